"""Normal draws far out, where bounds are easily wrong by much."""

from fractions import Fraction

import pytest

from tollens.checker.balls import probability
from tollens.checker.draws import Draw
from tollens.checker.form import Form
from tollens.checker.laws import Law

F = Fraction

FREE = Form(F(100), ((0, F(-1)), (1, F(1))))  # the second draw is hardly ever below the first - 100


def window(low, high):
    return [Form(F(-low), ((0, F(1)),)), Form(F(high), ((0, F(-1)),))]


@pytest.mark.parametrize("kind", ["gauss", "laplace"])
@pytest.mark.parametrize(
    ("low", "high"),
    [
        (F(9), F(9001, 1000)),
        (F(12), F(12001, 1000)),
        (F(12), F(15)),
        (F(25), F(251, 10)),
        (F(-12001, 1000), F(-12)),
        (F(-15), F(-12)),
    ],
)
def test_a_draw_that_hardly_matters_changes_hardly_anything(kind, low, high):
    low, high = (3 * low, 3 * high) if kind == "laplace" else (low, high)
    draws = [Draw(kind, (F(1),)), Draw("gauss", (F(1),))]
    alone = Law("normal" if kind == "gauss" else kind, (F(1),), 64).mass(low, high)
    least, most = probability(draws, [*window(low, high), FREE])
    assert least <= alone[1]
    assert alone[0] * (1 - F(1, 10**30)) <= most
    assert most <= alone[1] * F(101, 100)
    assert alone[0] * F(99, 100) <= least
