"""What a person reads, word for word; run with --snapshot-update after a change that is meant."""

import io

import numpy as np
import pytest
from rich.console import Console

import tollens
from tollens.checking import CheckReport
from tollens.report import text
from tollens.zoo import get


def shown(renderable, *, terminal=False):
    stream = io.StringIO()
    colors = "standard" if terminal else None
    console = Console(file=stream, width=100, force_terminal=terminal, color_system=colors)
    console.print(renderable)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines())


@tollens.batched
def noisy_count(rows, n, rng):
    return len(rows) + rng.laplace(scale=0.5, size=n)


@tollens.batched
def right_count(rows, n, rng):
    return len(rows) + rng.laplace(scale=1.0, size=n)


def audit(mechanism, claim, neighbours=((1, 1, 1), (1, 1)), **options):
    verdict = tollens.audit(mechanism, claim, neighbours=neighbours, seed=7, **options)
    return tollens.Verdict(**{**vars(verdict), "seconds": 0.25})


def test_refuted(snapshot):
    assert shown(text.verdict_text(audit(noisy_count, "epsilon=1"))) == snapshot


def test_refuted_in_colour(snapshot):
    verdict = audit(noisy_count, "epsilon=1")
    assert shown(text.verdict_text(verdict), terminal=True) == snapshot


def test_unrefuted(snapshot):
    assert shown(text.verdict_text(audit(right_count, "epsilon=1", budget=3000))) == snapshot


def test_undecided(snapshot):
    verdict = audit(lambda rows: 7, "epsilon=1", budget=100)
    assert shown(text.verdict_text(verdict)) == snapshot


def test_exceptions(snapshot):
    def fails(rows):
        if len(rows) == 2:
            raise KeyError("age")
        return np.random.default_rng(0).normal()

    assert shown(text.verdict_text(audit(fails, "epsilon=1, delta=1e-6"))) == snapshot


def test_gaussian_claim(snapshot):
    def noisy(x, rng):
        return x + rng.normal(scale=0.5)

    assert shown(text.verdict_text(audit(noisy, "mu=1", neighbours=(0.0, 1.0)))) == snapshot


def test_print_shows_the_same_lines_unwrapped(snapshot):
    assert str(audit(noisy_count, "epsilon=1")) == snapshot


def test_check_table(snapshot):
    rows = (
        ("counts.py::noisy", audit(noisy_count, "epsilon=1")),
        ("counts.py::right", audit(right_count, "epsilon=1", budget=3000)),
    )
    report = CheckReport(rows, (), 1e-6)
    assert shown(text.verdict_table(rows)) + "\n" + shown(text.check_summary(report)) == snapshot


def test_zoo_entry(snapshot):
    assert shown(text.entry_text(get("rr-extra-coin"))) == snapshot


@pytest.mark.parametrize(
    "claim",
    ["epsilon=1", "epsilon=ln 3, delta=1e-6", "mu=1", "rho=1/2", "order=8, epsilon=0.3"],
)
def test_words_of_claims(claim, snapshot):
    assert tollens.parse_claim(claim).words() == snapshot
