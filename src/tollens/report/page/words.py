"""What a report says beside the lines of a verdict: what was not tested, and by which methods."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tollens.evidence import Wealth
from tollens.outcome import Outcome
from tollens.report.contents import Contents
from tollens.rounding import up
from tollens.verdict import ASSUMPTIONS_OF_SCORES, Verdict

NEVER_PRIVATE = (
    "UNREFUTED never means “private”. It means: these runs, on these inputs, with these bets, did "
    "not refute the claim. There is no outcome that says a claim is true."
)
"""What stands at the top of every report."""

_BOTH = "that the two inputs are neighbours: it is taken on the word of who named them"


def not_tested(verdict: Verdict) -> list[str]:
    """What a verdict says nothing about, for a reader who relies on it."""
    if verdict.exact:
        proved = [
            _BOTH,
            "the floating-point numbers of the code that runs: a proof is about ideal numbers",
            "whether the text of the proof is that of the code in use",
        ]
        return proved if verdict.refuted else ["the code as it runs: its text was searched", _BOTH]
    if verdict.evidence.method in ASSUMPTIONS_OF_SCORES:
        return [
            "how the scores were made; only their numbers were looked at",
            "canaries other than these",
        ]
    outputs = getattr(verdict.evidence, "outputs", "numeric")
    unseen = [] if outputs == "exact" else ["the low bits of floating-point numbers"]
    unseen += [] if outputs == "timed" else ["running times"]
    return [
        "all pairs of inputs but those that were run; the verdict shows the pair that counts",
        _BOTH,
        f"{', '.join(unseen)}, and the messages of exceptions",
        "whether runs are fresh: randomness that repeats would not be noticed",
    ]


def outcome_words(verdict: Verdict) -> str:
    """What an outcome means, in a sentence."""
    if verdict.outcome is Outcome.REFUTED:
        return "The promise is false on this pair of inputs."
    if verdict.outcome is Outcome.UNREFUTED:
        return "Nothing was found against the promise, which does not show that it holds."
    return "Nothing was shown for or against the promise."


def evidence_words(verdict: Verdict) -> str:
    """The evidence in few words, for a table."""
    evidence = verdict.evidence
    if verdict.exact:
        return "proof" if verdict.refuted else "no proof found"
    return evidence.words(verdict.pairs).split(" (")[0]


def error_words(contents: Contents) -> list[str]:
    """The error probabilities of the whole report."""
    said = []
    runs = [item.verdict for item in contents.items if not item.verdict.exact]
    if runs:
        said.append(
            "If all claims that were tested by runs hold, one of them is refuted with probability "
            f"at most {up(contents.alpha, 3)}: the sum of the alphas of the verdicts (union bound)."
        )
    if len(runs) < len(contents.items):
        said.append("Proofs have no error probability.")
    if contents.histories:
        said.append("Each series that is watched has an alpha of its own, for all its steps.")
    return said


def methods(contents: Contents) -> list[tuple[str, str]]:
    """The methods that were used, each with the paper that it rests on."""
    verdicts = [item.verdict for item in contents.items]
    return [*_claims(verdicts), *_evidence(verdicts, contents)]


def _claims(verdicts: Sequence[Verdict]) -> Iterator[tuple[str, str]]:
    papers = {
        "pure": "Dwork, McSherry, Nissim and Smith, Calibrating noise to sensitivity in private "
        "data analysis, TCC 2006",
        "approx": "Dwork, Kenthapadi, McSherry, Mironov and Naor, Our data, ourselves, "
        "EUROCRYPT 2006",
        "gaussian": "Dong, Roth and Su, Gaussian differential privacy, JRSS B 2022",
        "tradeoff": "Dong, Roth and Su, Gaussian differential privacy, JRSS B 2022",
        "zcdp": "Bun and Steinke, Concentrated differential privacy, TCC 2016",
        "renyi": "Mironov, Rényi differential privacy, CSF 2017",
        "profile": "Balle, Barthe and Gaboardi, Privacy profiles and amplification by "
        "subsampling, JPC 2020",
    }
    for kind in dict.fromkeys(verdict.claim.kind for verdict in verdicts):
        if kind in papers:
            yield f"claims of kind {kind}", papers[kind]


def _evidence(verdicts: Sequence[Verdict], contents: Contents) -> Iterator[tuple[str, str]]:
    bets = any(isinstance(verdict.evidence, Wealth) for verdict in verdicts)
    if bets or contents.histories or contents.trainings:
        yield (
            "bets: where the claim holds, wealth reaches 1/alpha with probability at most alpha",
            "Ville, Étude critique de la notion de collectif, 1939",
        )
        yield "bets that grow fastest", "Grünwald, de Heide and Koolen, Safe testing, JRSS B 2024"
    if any(verdict.tally is not None and verdict.refuted for verdict in verdicts):
        yield (
            "intervals of frequencies in figures",
            "Clopper and Pearson, The use of confidence or fiducial limits, Biometrika 1934",
        )
    if any(verdict.exact for verdict in verdicts):
        yield "proofs", "certificates, confirmed in rational arithmetic by the checker of tollens"
    if len(verdicts) > 1:
        yield "many verdicts at once", "the union bound (Boole, Bonferroni)"
