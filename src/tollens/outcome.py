"""Outcomes of verdicts and the reasons for them, each a text with advice."""

from __future__ import annotations

from enum import Enum


class Outcome(Enum):
    """The three outcomes; there is no "private" one."""

    REFUTED = "refuted"
    UNREFUTED = "unrefuted"
    UNDECIDED = "undecided"


class Reason(Enum):
    """Why the outcome is what it is; the value is a text with advice."""

    WEALTH_REACHED = (
        "a gambler betting against the claim multiplied the stake by 1/alpha or more; if the "
        "claim held, that would happen with probability at most alpha"
    )
    NO_RANDOMNESS = (
        "no randomness seen: each side returned one constant, and they differ; is a seed fixed?"
    )
    ALARM = (
        "a monitor of the versions of this mechanism raised an alarm; if every version kept the "
        "claim, that would happen with probability at most alpha in the whole life of the series"
    )
    NO_ALARM = (
        "the versions so far raised no alarm; this does not show that they keep the claim: more "
        "pairs a step or a worse pair of neighbours may still raise one"
    )
    NO_STEPS = "no version could be run yet: nothing was tested"
    BUDGET_SPENT = (
        "the budget is spent and the claim is not refuted; this does not show that it holds: a "
        "larger budget or a worse pair of neighbours may still refute it"
    )
    SCORES_SPENT = (
        "all scores are looked at and the claim is not refuted; this does not show that it holds: "
        "more scores, or those of a stronger attack, may still refute it"
    )
    INTERRUPTED = "interrupted before the budget was spent; the claim is not refuted so far"
    TOO_FEW_PAIRS = (
        "too few pairs were seen for even the plainest leak to be refuted; run more pairs"
    )
    EQUAL_CONSTANTS = (
        "both sides returned one and the same constant: nothing random was seen and nothing was "
        "tested; does the mechanism release what it should?"
    )
    PROVED = (
        "a certificate proves that no mechanism with this text keeps the claim; there is no error "
        "probability, and anybody can check it again with tollens verify"
    )
    NOT_PROVED = (
        "the search is done and no proof was found; this does not show that the claim holds: "
        "other inputs, another engine or an audit may still refute it"
    )
    NO_ENGINE = (
        "no engine applies to this program and claim, so nothing was searched; the notes say why: "
        "rewrite the program, or audit its runs"
    )
    OUTSIDE_SUBSET = (
        "the program uses what has no exact meaning here, so nothing was searched; the notes name "
        "each place and what to write instead, or audit its runs"
    )
    TIME_LIMIT = (
        "the time is up and no proof was found so far; give more time, or fewer or smaller inputs"
    )
    SEARCH_INTERRUPTED = "interrupted before the search was done; no proof was found so far"
    ALWAYS_RAISES = (
        "every run raised an exception on both sides: no output was seen and nothing was tested; "
        "mend the call of the mechanism first"
    )
    ALWAYS_TIMES_OUT = (
        "no run finished within the time limit on either side: no output was seen and nothing "
        "was tested; raise the timeout or find out why the mechanism hangs"
    )
