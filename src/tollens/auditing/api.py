"""The verb `audit` and the stream `Audit`: settings are checked here, the work is elsewhere."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tollens.adapters import adapt, promised
from tollens.auditing import kernel
from tollens.auditing.bandit import Bandit, stake
from tollens.auditing.conclude import Circumstances, conclude
from tollens.auditing.experts import EXACT_SHARE, GIVEN_SHARE
from tollens.auditing.gamblers import gamblers
from tollens.auditing.kernel_audit import kernel_setting
from tollens.auditing.power import fewest_pairs
from tollens.auditing.record import Recorder
from tollens.auditing.run import Progress, Settings, run_audit
from tollens.backends import backend_findings, is_cluster
from tollens.claim import Claim, parse_claim
from tollens.errors import UsageError, collect
from tollens.mechanism import Mechanism
from tollens.neighbours import Pair
from tollens.parallel import cluster_finding, parallel_finding
from tollens.promises import declared
from tollens.relations import Relation, as_relation
from tollens.streams import fresh_seed
from tollens.targets import load_target
from tollens.verdict import Verdict

Batch = Sequence[object] | NDArray[np.generic]

_STREAM = Pair(None, None, "the caller's stream")

_CHOICES = {
    "until": ("refuted", "budget"),
    "method": ("projection", "mmd"),
    "outputs": ("numeric", "exact", "timed"),
    "coupling": ("auto", "independent", "common"),
}


def audit(  # noqa: PLR0913 - keyword-only settings with good defaults
    mechanism: object,
    claim: Claim | str | None = None,
    *,
    neighbours: object,
    alpha: float = 1e-6,
    budget: int = 20_000,
    until: str = "refuted",
    method: str = "projection",
    outputs: str = "numeric",
    coupling: str = "auto",
    seed: int | None = None,
    workers: int = 1,
    backend: str | None = None,
    timeout: float | None = None,
    delta: float | None = None,
    progress: Callable[[Progress], None] | None = None,
    shrink: bool = True,
    witness: Callable[[object], bool] | None = None,
    recorder: Recorder | None = None,
    target: str | None = None,
) -> Verdict:
    """Bet against a claim on runs of a mechanism, until it is refuted or the budget is spent.

    `mechanism` is a callable of `(data)` or `(data, rng)`, one wrapped by `tollens.batched`, an
    object of a supported library, or a text such as `"path/file.py::name"`. `claim` is a claim or
    its text form; None asks the object (or its declared promise) for one. `neighbours` is one
    pair `(x, x_prime)`, a list of pairs, a relation such as `tollens.add_remove(domain)`, or a
    Hypothesis strategy of pairs, taken
    on the caller's word; which of many pairs is run next is chosen from the past, all under one
    alpha.

    `alpha` is the probability with which a true claim is ever refuted by this call. `budget`
    counts pairs of runs, burn-in included. `until="budget"` goes on after the refutation to
    certify a larger leak. `timeout` is in seconds for one run; `delta` is where the certified
    leak is stated if the claim has no delta of its own (default 1e-5). `coupling` says whether a
    mechanism that takes `rng` is run on x and x' with the same draws: "auto" chooses what gains
    more, round by round, from the past. With a seed, a mechanism
    that takes `rng` gives the same verdict twice. `progress` is called after each block of runs.
    `workers` processes sample at a time; the verdict of a seed does not depend on how many. They
    load a mechanism that cannot be sent to them from its text form, `target`. With
    `backend="dask://host:port"` or `"ray://host:port"` the workers of that cluster sample, all of
    them whatever `workers` says, again with the same verdict. It takes mechanisms that take `rng`.

    A pair of a relation that refutes is shrunk: `verdict.neighbours` is then a smallest pair of
    that relation which was refuted again on fresh runs, if the budget leaves enough of them. A
    twentieth of alpha is kept for it; `shrink=False` shows the pair that paid.

    `outputs="exact"` also bets on the bits of numbers (see `tollens.bits`) and on which exact
    values were seen before; a quarter of the stake goes there. Naive samplers in floating point
    are refuted by it, even where their values keep the promise.

    `outputs="timed"` also bets on the running time of each run: the runs of x and x' alternate in
    an order that is drawn anew for each pair, and bets allow for the two of a pair to depend on
    each other. A time is only compared with others of this audit on this machine.

    `witness` is an event that you suspect: a function of an output that says whether it is in it,
    the same for equal outputs. A quarter of the stake is bet on it, so that a rare event need not
    be found first; if it is a wrong guess, the audit is hardly slower.

    Raises `UsageError` (all problems at once) for wrong settings, among them a budget with which
    nothing could be refuted; `MechanismError` where a mechanism changes its input or returns no
    batch of n; `Interrupted`, with the verdict so far, on Ctrl-C.

    `method="mmd"` is the kernel audit of the literature, on independent runs, for comparison.

    The method: Waudby-Smith and Ramdas' betting (2023) and Ville's inequality, with the bets of
    `tollens.auditing.projection`.

    >>> import tollens
    >>> def noisy_count(rows, rng):
    ...     return len(rows) + rng.laplace(scale=0.5)        # epsilon = 1 needs scale 1
    >>> verdict = tollens.audit(
    ...     noisy_count, tollens.pure(1), neighbours=([1, 1, 1], [1, 1]), seed=1)
    >>> verdict.outcome.name, verdict.epsilon_lower >= 1
    ('REFUTED', True)
    """
    findings = _setting_findings(alpha, budget, workers, timeout, delta, seed)
    chosen = {"until": until, "method": method, "outputs": outputs, "coupling": coupling}
    findings += _choice_findings(chosen) + _witness_findings(witness, method)
    wrong = backend_findings(backend)
    findings += wrong
    remote = not wrong and is_cluster(backend)
    if remote and timeout is not None:
        findings.append("timeout does not go with a backend: workers of clusters cannot fork")
    if outputs == "exact" and (coupling == "common" or method == "mmd"):
        other = "coupling='common'" if coupling == "common" else "method='mmd'"
        findings.append(f"outputs='exact' bets on independent runs: it does not go with {other}")
    if outputs == "timed":
        against = {
            "method='mmd'": method == "mmd",
            "coupling='independent'": coupling == "independent",
            "workers above 1": _is_whole(workers) and workers > 1,
            "a backend": remote,
            "a timeout": timeout is not None,
        }
        words = [name for name, given in against.items() if given]
        findings += [f"outputs='timed' does not go with {name}" for name in words]
    prepared: Mechanism | None = None
    relation: Relation | None = None
    made_claim: Claim | None = None
    loaded = collect(findings, lambda: _load(mechanism))
    if loaded is not None:
        prepared = collect(findings, lambda: adapt(loaded))
    relation = collect(findings, lambda: as_relation(neighbours))
    if relation is not None and len(relation) > 1 and method == "mmd":
        findings.append(
            f"method is 'mmd', which audits one pair, but {relation.name} has {len(relation):,}; "
            "give one of them, or use the default method"
        )
    if prepared is not None:
        text = mechanism if isinstance(mechanism, str) else target
        prepared = replace(prepared, target=text)
        refusal = None
        if remote:
            refusal = cluster_finding(prepared)
        elif _is_whole(workers) and workers > 1:
            refusal = parallel_finding(prepared)
        findings += [] if refusal is None else [refusal]
        made_claim = collect(findings, lambda: claim_of(claim, loaded, prepared))
        if coupling == "common" and not prepared.takes_rng and outputs != "timed":
            findings.append(
                f"coupling is 'common', but {prepared.name} takes no rng to share; use "
                "'independent', or give the mechanism a parameter named rng"
            )
    elif isinstance(claim, str):
        collect(findings, lambda: parse_claim(claim))
    if not findings and made_claim is not None:
        learned = 1.0 - GIVEN_SHARE * (witness is not None) - EXACT_SHARE * (outputs == "exact")
        first = learned * stake(1, 1 if relation is None else len(relation))
        bets_on = "common" if outputs == "timed" else coupling
        findings += _hopeless(made_claim, alpha * first, budget, bets_on, method)
    if findings or prepared is None or relation is None or made_claim is None:
        raise UsageError(findings)
    settings = Settings(
        alpha=alpha,
        budget=budget,
        until=until,
        timeout=timeout,
        delta=delta,
        seed=fresh_seed() if seed is None else int(seed),
        coupling=coupling,
        method=method,
        workers=int(workers),
        witness=witness,
        shrink=bool(shrink),
        outputs=outputs,
        backend=backend,
    )
    return run_audit(prepared, made_claim, relation, settings, progress=progress, recorder=recorder)


def _load(mechanism: object) -> object:
    return load_target(mechanism) if isinstance(mechanism, str) else mechanism


def claim_of(claim: Claim | str | None, loaded: object, mechanism: Mechanism) -> Claim:
    """The claim that was given, else the one declared on the object, else the library's own."""
    if isinstance(claim, str):
        return parse_claim(claim)
    if isinstance(claim, Claim):
        return claim
    if claim is not None:
        raise UsageError(
            f"the claim is a {type(claim).__name__}; give a claim such as tollens.pure(1) or a "
            'text such as "epsilon=1"'
        )
    own = declared(loaded)
    if own is not None and own.claim is not None:
        return own.claim
    if mechanism.promise is not None:
        return mechanism.promise
    return promised(loaded)


def _setting_findings(
    alpha: float,
    budget: int,
    workers: int,
    timeout: float | None,
    delta: float | None,
    seed: int | None,
) -> list[str]:
    findings = []
    if not _is_real(alpha) or not 0 < alpha < 1:
        findings.append(f"alpha is {alpha}; it must lie strictly between 0 and 1")
    elif alpha < 1e-290:
        findings.append(f"alpha is {alpha}; below 1e-290 floats cannot tell it from 0")
    if isinstance(budget, bool) or not isinstance(budget, int) or budget < 1:
        findings.append(f"budget is {budget}; it must be a whole number of at least 1")
    if not _is_whole(workers) or isinstance(workers, bool) or workers < 1:
        findings.append(f"workers is {workers}; it must be a whole number of at least 1")
    if timeout is not None and not (_is_real(timeout) and 0 < timeout < math.inf):
        findings.append(f"timeout is {timeout}; it must be a positive number of seconds")
    if delta is not None and not (_is_real(delta) and 0 <= delta <= 1):
        findings.append(f"delta is {delta}; it must lie in [0, 1]")
    if seed is not None and (isinstance(seed, bool) or not _is_whole(seed) or seed < 0):
        findings.append(f"seed is {seed}; it must be a whole number of at least 0")
    return findings


def _choice_findings(chosen: dict[str, str]) -> list[str]:
    return [
        f"{name} is {value!r}; it must be one of {', '.join(_CHOICES[name])}"
        for name, value in chosen.items()
        if value not in _CHOICES[name]
    ]


def _witness_findings(witness: object, method: str) -> list[str]:
    if witness is None:
        return []
    if not callable(witness):
        kind = type(witness).__name__
        return [f"witness is a {kind}; give a function that says whether an output is in the event"]
    return [] if method != "mmd" else ["method is 'mmd', which bets on no witness"]


def _is_real(value: object) -> bool:
    return isinstance(value, int | float | np.floating) and not isinstance(value, bool)


def _is_whole(value: object) -> bool:
    return isinstance(value, int | np.integer)


def _hopeless(claim: Claim, alpha: float, budget: int, coupling: str, method: str) -> list[str]:
    """Why no leak whatever could be refuted with this budget; empty where one could."""
    if method == "mmd":
        fewest = kernel.fewest_pairs(claim, alpha, kernel_setting(budget))
    else:
        fewest = fewest_pairs(claim, alpha, coupling)
    if fewest is not None and fewest <= budget:
        return []
    need = (
        "no number of pairs would do with this method"
        if fewest is None
        else f"that takes {fewest:,} pairs"
    )
    return [
        f"a budget of {budget:,} pairs can never refute {claim} at alpha = {alpha:g}, not even "
        f"where the outputs give the input away: {need}; raise the budget or alpha"
    ]


class Audit:
    """An audit as a stream: feed pairs of outputs, look whenever you like.

    Pairs must be drawn independently of all earlier ones. Within a pair the outputs of x and x'
    must be independent too, unless `coupling` is "common": then they may share their draws.
    `delta` is where `epsilon_lower` is stated if the claim has none of its own; `seed` only
    steers the folds of learned scores.

    >>> import numpy as np, tollens
    >>> rng = np.random.default_rng(0)
    >>> stream = Audit(tollens.pure(1), alpha=0.05)
    >>> stream.update(1 + rng.laplace(scale=0.25, size=200), rng.laplace(scale=0.25, size=200))
    >>> stream.refuted, stream.pairs
    (True, 200)
    """

    def __init__(
        self,
        claim: Claim | str,
        *,
        alpha: float = 1e-6,
        coupling: str = "independent",
        delta: float | None = None,
        seed: int = 0,
    ) -> None:
        findings = _setting_findings(alpha, 1, 1, None, delta, seed)
        if coupling not in ("independent", "common"):
            findings.append(f"coupling is {coupling!r}; it must be one of independent, common")
        made = collect(findings, lambda: parse_claim(claim) if isinstance(claim, str) else claim)
        if made is not None and not isinstance(made, Claim):
            findings.append(f"the claim is a {type(made).__name__}; give one such as pure(1)")
        if findings or made is None:
            raise UsageError(findings)
        self.claim, self.alpha = made, alpha
        make = gamblers(
            made, level=alpha, delta=delta, seed=seed, method="projection", coupling=coupling,
            budget=1, unequal=False,
        )  # fmt: skip
        self._gambler = Bandit(Relation("the caller's stream", 1, lambda _: _STREAM), make)
        self._started = time.perf_counter()

    def update(self, outputs_x: Batch, outputs_x_prime: Batch) -> None:
        """Add n outputs of each side, in the order in which they were drawn.

        Arrays count outputs along their first axis. `UsageError` if the numbers differ.
        """
        if len(outputs_x) != len(outputs_x_prime):
            raise UsageError(
                f"{len(outputs_x)} outputs of x and {len(outputs_x_prime)} of x_prime; feed the "
                "same number of both"
            )
        encoder = self._gambler.encoder
        self._gambler.update(encoder.encode(outputs_x), encoder.encode(outputs_x_prime))

    @property
    def refuted(self) -> bool:
        """Whether the claim has been refuted; stays true."""
        return self._gambler.refuted

    @property
    def refuted_at(self) -> int | None:
        """The pair at which the claim was refuted; None as long as it is not."""
        return self._gambler.crossed_at

    @property
    def log_e_value(self) -> float:
        """The natural log of the wealth now (once refuted, at least the threshold)."""
        return self._gambler.log_e_value

    @property
    def epsilon_lower(self) -> float:
        """The certified lower bound for epsilon so far."""
        return self._gambler.epsilon_lower

    @property
    def pairs(self) -> int:
        """The number of pairs seen."""
        return self._gambler.pairs

    def verdict(self) -> Verdict:
        """The verdict on the pairs so far."""
        return conclude(
            self._gambler,
            Circumstances(
                mechanism="a stream of outputs",
                pair=_STREAM,
                alpha=self.alpha,
                seed=None,
                replayable=False,
                seconds=time.perf_counter() - self._started,
                runs=2 * self._gambler.pairs,
            ),
        )
