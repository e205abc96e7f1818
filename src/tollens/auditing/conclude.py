"""From the state of a gambler to a verdict that says no more than was shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tollens.auditing import kernel
from tollens.auditing.bandit import Bandit
from tollens.auditing.power import detectable_excess, fewest_pairs
from tollens.auditing.shrink import Shrunk
from tollens.neighbours import Pair
from tollens.outputs import Raised
from tollens.verdict import Outcome, Reason, Verdict
from tollens.versions import versions


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What a verdict says beside the bets: whose runs these were and how they were made.

    `until_refuted` says that the audit stops at the pair that refutes; `runs` counts all runs
    made, among them those of the last block that came after that pair.
    """

    mechanism: str
    pair: Pair
    alpha: float
    seed: int | None
    replayable: bool
    seconds: float
    runs: int
    interrupted: bool = False
    until_refuted: bool = False
    raised: Raised | None = None
    packages: tuple[str, ...] = ()
    installed: Mapping[str, str] | None = None
    notes: tuple[str, ...] = ()
    shrunk: Shrunk | None = None


def conclude(gambler: Bandit, about: Circumstances) -> Verdict:
    """The verdict on the pairs seen so far."""
    outcome, reason = _judge(gambler, about)
    excess = None
    if outcome is not Outcome.UNDECIDED and gambler.method == "projection":
        most, share = gambler.best_runs
        excess = detectable_excess(gambler.claim, gambler.alpha * share, most)
    evidence = gambler.evidence(at_crossing=about.until_refuted)
    shrunk, epsilon_lower = about.shrunk, gambler.epsilon_lower
    shown = gambler.shown() if outcome is Outcome.REFUTED else None
    witness, tally = None if shown is None else shown.witness, gambler.tally(shown)
    if shrunk is not None:
        witness, tally = shrunk.witness, shrunk.tally
        epsilon_lower = max(epsilon_lower, shrunk.epsilon_lower)
    return Verdict(
        outcome=outcome,
        reason=reason,
        claim=gambler.claim,
        mechanism=about.mechanism,
        neighbours=about.pair if shrunk is None else shrunk.pair,
        witness=witness,
        epsilon_lower=epsilon_lower,
        delta=gambler.delta,
        pairs=evidence.curve[-1][0],
        runs=about.runs,
        alpha=about.alpha,
        evidence=evidence,
        seed=about.seed,
        replayable=about.replayable,
        seconds=about.seconds,
        detectable_excess=excess,
        versions=versions(*about.packages, elsewhere=about.installed),
        notes=(*about.notes, *_notes(gambler, about, reason)),
        tally=tally,
    )


def _judge(gambler: Bandit, about: Circumstances) -> tuple[Outcome, Reason]:
    constant_x, constant_y = gambler.constants
    both_constant = constant_x.holds and constant_y.holds
    if gambler.refuted:
        return (
            Outcome.REFUTED,
            Reason.NO_RANDOMNESS if both_constant else Reason.WEALTH_REACHED,
        )
    if both_constant and constant_x.key is not None and constant_x.key == constant_y.key:
        shape = gambler.encoder.shape_name(constant_x.shape)
        if shape == "raised Timeout":
            return Outcome.UNDECIDED, Reason.ALWAYS_TIMES_OUT
        if shape.startswith("raised "):
            return Outcome.UNDECIDED, Reason.ALWAYS_RAISES
        return Outcome.UNDECIDED, Reason.EQUAL_CONSTANTS
    most, share = gambler.best_runs
    if gambler.method == "mmd":
        fewest = kernel.fewest_pairs(gambler.claim, gambler.alpha)
    else:
        fewest = fewest_pairs(gambler.claim, gambler.alpha * share, gambler.coupling)
    enough = fewest is not None and most >= fewest
    if about.interrupted:
        return (Outcome.UNREFUTED if enough else Outcome.UNDECIDED), Reason.INTERRUPTED
    if not enough:
        return Outcome.UNDECIDED, Reason.TOO_FEW_PAIRS
    return Outcome.UNREFUTED, Reason.BUDGET_SPENT


def _notes(gambler: Bandit, about: Circumstances, reason: Reason) -> list[str]:
    notes = []
    if reason is Reason.EQUAL_CONSTANTS:
        key = gambler.constants[0].key
        value = None if key is None else gambler.encoder.text_of(key)
        if value is not None:
            notes.append(f"every run returned {value}")
    if about.raised is not None:
        notes.append(f"some runs raised an exception, the last one {about.raised}")
    if len(gambler.relation) > 1:
        shown = "that paid" if gambler.refuted else "that was run most"
        which = f"the one shown is the one {shown}"
        if about.shrunk is not None and about.shrunk.pair.relation != about.pair.relation:
            which = f"the one {shown} was {about.pair.relation}"
        notes.append(
            f"{gambler.opened:,} of {len(gambler.relation):,} pairs of inputs were run; {which}, "
            f"with {gambler.best_runs[0]:,} pairs of runs"
        )
    if about.shrunk is not None:
        notes.append(
            f"the pair shown was refuted again on {about.shrunk.pairs:,} fresh pairs of runs"
        )
    names = gambler.encoder.shape_names
    if len(names) > 1:
        listed = ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
        notes.append(f"outputs came in {len(names)} shapes: {listed}")
    return notes
