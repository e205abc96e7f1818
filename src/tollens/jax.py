"""Audit private training with JAX while it trains; needs the extra `tollens[jax]`.

>>> import jax.numpy as jnp, optax, tollens.jax
>>> from jax_privacy.noise_addition import gaussian_privatizer
>>> privatiser = gaussian_privatizer(stddev=0.5, prng_key=0)
>>> with tollens.jax.watch(privatiser, clipping_norm=1.0, noise_multiplier=1.0) as w:
...     optimizer = optax.chain(w.transformation, optax.sgd(0.1))     # noise has half its spread
...     state = optimizer.init(jnp.zeros(300))
...     for _ in range(2):
...         step, state = optimizer.update(jnp.ones(300), state)
>>> w.refuted, w.audit.refuted_at, w.findings[0].part
(True, 1, 'noise scale')
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tollens.claim import Claim
from tollens.errors import UsageError
from tollens.report.training_line import shown_by
from tollens.training.step_audit import StepAudit
from tollens.training.watching import StopTraining, WatchSettings

try:
    from tollens.training.jax.watch import Watch
except ImportError as error:  # pragma: no cover - depends on what is installed
    raise UsageError(
        f'tollens.jax needs JAX and optax, which cannot be imported ({error}): pip install "tollens'
        '[jax]"'
    ) from error

__all__ = ["StopTraining", "Watch", "watch"]


def watch(  # noqa: PLR0913 - keyword-only settings with good defaults
    transformation: Any,
    *,
    clipping_norm: float,
    noise_multiplier: float,
    records: int | None = None,
    rate: float | None = None,
    accountant: Any = None,
    claim: Claim | str | None = None,
    alpha: float = 0.01,
    delta: float = 1e-5,
    method: str = "projection",
    stop: bool = False,
    every: int = 1,
    per_example: bool = False,
    divided_by: float | None = None,
    fresh: bool | None = None,
    private_size: bool = False,
    untouched: bool = False,
    seed: int = 0,
    progress: bool | Callable[[StepAudit], None] = False,
) -> Watch:
    """Audit every step of a privatiser: what is returned takes its place in the training.

    `transformation` adds the noise: of `jax_privacy` (its privatisers are given the sum of clipped
    gradients) or, with `per_example=True`, of `optax.contrib.differentially_private_aggregate`
    (a row for each record; it clips itself). It must be a pure function, as optax wants. The
    watch has its `init` and `update`; `optax.chain(w.transformation, optax.sgd(...))` puts an
    optimiser behind it. The state is the privatiser's own, and the audit ends with the `with`
    block.

    `clipping_norm` is the most by which a record changes the sum that goes in (1 where gradients
    are rescaled to unit norm), `noise_multiplier` the standard deviation of the noise over that: a
    step is `mu = 1 / noise_multiplier` unless `claim` says otherwise. `records` and `rate` say
    that batches are Poisson samples; their sizes are what `w.batch(size)` says before each step,
    or else the rows of per-example gradients, until one that is zero looks like padding.

    `accountant` is a function of (noise multiplier, steps, delta), an accountant or event of
    `dp_accounting`, or a pair of an accountant of `jax_privacy` and its `DpParams`; without it, a
    `rate` is accounted with Renyi divergences.

    What comes out may be divided by a number, `divided_by`. Left out, it is 1 or the batch's size,
    whichever it is for a gradient that is tried before training. `fresh` says whether the noise of
    different steps is independent; left out, six steps of zeros are tried. Noise that is
    correlated on purpose (`matrix_factorization_privatizer`) is audited step by step; that it is
    used again is then a fault only where it is the same. `private_size=True` says that sizes of
    batches are private. `alpha` is the probability with which all of this together is ever called
    refuted if it is true; epsilons are stated at `delta`. `every=k` replays one step in k.

    Outside of a trace, each step is read at once, and `stop=True` raises `StopTraining` in it.
    Within `jax.jit` and `jax.lax.scan` the replay is compiled into the step, and numbers come to
    the host by ordered callbacks: `w.check()` waits for them and raises what a compiled program
    cannot, at the latest at the end of the block. Functions must be compiled anew for each watch.
    Arrays may be sharded under `jax.jit`; `jax.vmap`, `jax.pmap` and `shard_map` are refused.

    Training is the same to the bit outside of a trace. Within one, a second use of the gradients
    may make the compiler round the last bits of large models differently (by 2e-7, with 125,000
    parameters). `untouched=True` has compiled steps replayed with zeros in place of the gradients,
    which leaves no trace; what gradients do to clipping and noise is then not seen.

    Raises `UsageError` for what is no privatiser, and where a small gradient does not come out as
    it went in: an optimiser or learning rate belongs behind the watch.
    """
    shown, close = shown_by(progress)
    settings = WatchSettings(
        claim=claim,
        alpha=alpha,
        delta=delta,
        method=method,
        stop=stop,
        every=every,
        seed=seed,
        progress=shown,
        close=close,
    )
    return Watch(
        transformation,
        settings,
        clipping_norm=clipping_norm,
        noise_multiplier=noise_multiplier,
        records=records,
        rate=rate,
        accountant=accountant,
        per_example=per_example,
        divided_by=divided_by,
        fresh=fresh,
        private_size=private_size,
        untouched=untouched,
    )
