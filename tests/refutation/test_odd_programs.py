"""What the search cannot work with ends in a verdict that says why, never in a traceback."""

import pytest

import tollens
from tollens import noise


def in_itself(x):
    made = [x + noise.laplace(1)]
    made.append(made)
    return made


def in_itself_without_draws(x):
    made = [x]
    made.append(made)
    return (made == made, noise.flip(1 / 2))


def wide(x):
    return x + noise.laplace(10**400)


def narrow(x):
    return x + noise.laplace(1 / 10**400)


def wide_in_a_loop(x):
    while x < noise.uniform(0, 10**400):
        x += 1
    return x


PROGRAMS = (in_itself, in_itself_without_draws, wide, narrow, wide_in_a_loop)


@pytest.mark.parametrize("engine", ["auto", "events", "balls", "moments", "martingale"])
@pytest.mark.parametrize("function", PROGRAMS)
def test_a_verdict_with_a_note(function, engine):
    verdict = tollens.refute(function, "epsilon=1", neighbours=(0, 3), engine=engine, timeout=2)
    assert verdict.refuted or verdict.notes
