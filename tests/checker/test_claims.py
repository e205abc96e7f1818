"""The last inequality at its boundary and next to it, for every kind of claim."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tollens.checker.claims import certified, contradict, read_claim, read_quantity
from tollens.checker.errors import CertificateError

mpmath = pytest.importorskip("mpmath")
F = Fraction
TINY = F(1, 10**25)


def claim(kind, **parameters):
    return read_claim({"kind": kind, "ordered": False, **parameters})


def breaks(made, lower, upper, hint=None, unit=True):
    try:
        contradict(made, hint, lower, upper, unit)
    except CertificateError as error:
        assert "do not contradict" in str(error), error
        return False
    return True


def rational(x):
    """An mpmath number as a fraction."""
    return F(int(mpmath.floor(x * mpmath.mpf(2) ** 150)), 2**150)


def real(q):
    return mpmath.mpf(q.numerator) / q.denominator


@pytest.fixture(autouse=True)
def _precise():
    with mpmath.workdps(60):
        yield


def ends_at(made, lower, limit, hint=None):
    """The claim is broken by an upper bound below the limit and by none above it."""
    assert breaks(made, lower, limit * (1 - TINY), hint)
    assert not breaks(made, lower, limit * (1 + TINY), hint)


@pytest.mark.parametrize("epsilon", ["0", "1", "1/10", "5/2", "20"])
@pytest.mark.parametrize("lower", [F(1), F(1, 3), F(1, 10**9), F(7)])
def test_pure(epsilon, lower):
    limit = rational(real(lower) * mpmath.exp(-real(F(epsilon))))
    made = claim("pure", epsilon=epsilon)
    ends_at(made, lower, limit)
    assert breaks(made, lower, limit * (1 - TINY), unit=False)


@pytest.mark.parametrize(("epsilon", "ratio"), [("ln 3", 3), ("ln 7/2", F(7, 2)), ("ln 1", 1)])
def test_logarithms_are_exact(epsilon, ratio):
    made = claim("pure", epsilon=epsilon)
    for lower in (F(1, 3), F(10, 7)):
        assert not breaks(made, lower, lower / ratio)
        assert breaks(made, lower, lower / ratio - F(1, 10**60))
        assert not breaks(made, lower, lower / ratio + F(1, 10**60))
    made = claim("approx", epsilon=epsilon, delta="1/10")
    assert not breaks(made, F(1, 2), F(2, 5) / ratio)
    assert breaks(made, F(1, 2), F(2, 5) / ratio - F(1, 10**60))


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1/100"), ("0", "1/2"), ("1/3", "1/100000")])
def test_approx(epsilon, delta):
    made = claim("approx", epsilon=epsilon, delta=delta)
    for lower in (F(1), F(3, 5)):
        limit = rational((real(lower) - real(F(delta))) * mpmath.exp(-real(F(epsilon))))
        ends_at(made, lower, limit)
    assert not breaks(made, F(delta), F(0))
    assert breaks(made, F(delta) + F(1, 10**60), F(0))


def phi(x):
    return mpmath.ncdf(x)


@pytest.mark.parametrize("mu", ["1/2", "1", "3"])
@pytest.mark.parametrize("z", [F(-3), F(-1, 2), F(0)])
def test_gaussian(mu, z):
    made = claim("gaussian", mu=mu)
    upper = rational(phi(real(z)))
    limit = rational(phi(real(z) + real(F(mu))))
    hint = str(z)
    assert breaks(made, limit * (1 + TINY), upper * (1 - TINY), hint)
    assert not breaks(made, limit * (1 - TINY), upper * (1 - TINY), hint)
    with pytest.raises(CertificateError, match="Phi of the hint"):
        contradict(made, hint, F(1), upper * (1 + TINY), True)
    assert not breaks(made, limit * (1 + TINY), upper * (1 - TINY), str(z + F(1, 100)))
    assert breaks(claim("gaussian", mu=mu), F(1, 10**9), F(0))


def divergence(p, q, order):
    """The Renyi divergence of coins."""
    p, q, a = real(p), real(q), real(order)
    return mpmath.log(p**a * q ** (1 - a) + (1 - p) ** a * (1 - q) ** (1 - a)) / (a - 1)


@pytest.mark.parametrize("order", ["2", "3/2", "11/10", "17", "63", "64", "101/2"])
@pytest.mark.parametrize(("p", "q"), [(F(1, 2), F(1, 20)), (F(99, 100), F(1, 3)), (F(1), F(9, 10))])
def test_renyi(order, p, q):
    true = rational(divergence(p, q, F(order)))
    for factor, broken in ((1 - TINY, True), (1 + TINY, False)):
        made = claim("renyi", order=order, epsilon=str(true * factor))
        assert breaks(made, p, q) == broken
        assert not breaks(made, q, p)  # the other side is another claim
    assert breaks(claim("renyi", order=order, epsilon="999"), F(1, 10**9), F(0))


@pytest.mark.parametrize("order", ["2", "5/4", "12"])
def test_zcdp(order):
    p, q = F(4, 5), F(1, 8)
    true = rational(divergence(p, q, F(order))) / F(order)
    assert breaks(claim("zcdp", rho=str(true * (1 - TINY))), p, q, order)
    assert not breaks(claim("zcdp", rho=str(true * (1 + TINY))), p, q, order)
    assert breaks(claim("zcdp", rho="900"), F(1, 10**9), F(0))


probabilities = st.fractions(F(1, 1000), F(999, 1000), max_denominator=1000)


@settings(max_examples=80)
@given(probabilities, probabilities, st.fractions(F(0), F(3), max_denominator=50))
def test_what_is_broken_is_false(p, q, epsilon):
    """No accepted pair lies in the region of its claim."""
    bound = real(epsilon)
    for kind, parameters, inside in (
        ("pure", {"epsilon": str(epsilon)}, real(p) <= mpmath.exp(bound) * real(q)),
        ("renyi", {"order": "5/2", "epsilon": str(epsilon)}, divergence(p, q, F(5, 2)) <= bound),
        ("renyi", {"order": "3", "epsilon": str(epsilon)}, divergence(p, q, F(3)) <= bound),
    ):
        if breaks(claim(kind, **parameters), p, q):
            assert not inside
        elif kind == "pure" or p > q:
            assert inside


@pytest.mark.parametrize(
    ("made", "hint", "lower", "upper", "unit", "message"),
    [
        (claim("pure", epsilon="0"), None, F(0), F(0), True, "no expectations that differ"),
        (claim("pure", epsilon="0"), None, F(-1), F(0), True, "no expectations that differ"),
        (claim("pure", epsilon="0"), None, F(1), F(-1), True, "no expectations that differ"),
        (claim("pure", epsilon="0"), "2", F(1), F(0), True, "hint does not fit"),
        (claim("approx", epsilon="0", delta="0"), None, F(2), F(1), False, "pure claims only"),
        (claim("gaussian", mu="1"), None, F(1), F(1, 2), True, "hint does not fit"),
        (claim("gaussian", mu="1"), "0", F(1), F(0), True, "hint does not fit"),
        (claim("gaussian", mu="1"), 0, F(1), F(1, 2), True, "no exact number"),
        (claim("zcdp", rho="1"), "1", F(1), F(1, 2), True, "order must lie above 1"),
        (claim("zcdp", rho="1"), "10001", F(1), F(1, 2), True, "order must lie above 1"),
        (claim("zcdp", rho="1"), "2", F(1), F(1), True, "do not contradict"),
        (claim("zcdp", rho="1"), "2", F(3, 2), F(1, 2), True, "no probabilities"),
        (claim("renyi", order="2", epsilon="1"), "2", F(1), F(1, 2), True, "hint does not fit"),
        (claim("renyi", order="2", epsilon="1"), None, F(2), F(1), True, "no probabilities"),
    ],
)
def test_what_does_not_fit(made, hint, lower, upper, unit, message):
    with pytest.raises(CertificateError, match=message):
        contradict(made, hint, lower, upper, unit)


@pytest.mark.parametrize("epsilon", [F(0), F(1), F(-2), F(999), F(1, 7)])
def test_certified(epsilon):
    for made, slack in (
        (claim("pure", epsilon="1"), F(0)),
        (claim("approx", epsilon="1", delta="1/9"), F(1, 9)),
    ):
        upper = F(1, 10**500)
        lower = rational(mpmath.exp(real(epsilon)) * 2**400) * upper / 2**400
        certified(made, str(epsilon), lower * (1 + TINY) + slack, upper)
        certified(made, str(epsilon - 1), lower * (1 + TINY) + slack, upper)
        with pytest.raises(CertificateError, match="more than the bounds show"):
            certified(made, str(epsilon), lower * (1 - TINY) + slack, upper)


def test_certified_infinity():
    pure, approx = claim("pure", epsilon="1"), claim("approx", epsilon="1", delta="1/9")
    certified(pure, "Infinity", F(1, 10**9), F(0))
    certified(approx, "Infinity", F(1, 9) + TINY, F(0))
    for made, lower, upper in ((pure, F(1), TINY), (approx, F(1, 9), F(0)), (pure, F(0), F(0))):
        with pytest.raises(CertificateError, match="not infinite"):
            certified(made, "Infinity", lower, upper)
    for stated in ("1001", "-1001", "inf", 1, None, "1e3", "nan"):
        with pytest.raises(CertificateError):
            certified(pure, stated, F(10**600), F(1))


ODD = ("-1", "ln 1/2", "ln 0", "ln -3", "1001", "ln", "log 3", "1.5", "ln ln 3", "", "1/0", 1, None,
       True, ["1"], "inf", "NaN", "LN 3")  # fmt: skip


@pytest.mark.parametrize("data", ODD)
def test_bad_quantities(data):
    with pytest.raises(CertificateError):
        read_quantity(data, "epsilon")


@pytest.mark.parametrize(
    "data",
    [
        None, [], "pure", {}, {"kind": "pure"}, {"kind": "pure", "epsilon": "1"},
        {"kind": "pure", "epsilon": "1", "ordered": 0}, {"kind": ["pure"]},
        {"kind": "pure", "epsilon": "1", "ordered": False, "delta": "0"},
        {"kind": "profile", "epsilon": "1", "ordered": False},
        {"kind": "approx", "epsilon": "1", "delta": "11/10", "ordered": False},
        {"kind": "approx", "epsilon": "1", "delta": "-1/10", "ordered": False},
        {"kind": "renyi", "order": "1", "epsilon": "1", "ordered": False},
        {"kind": "renyi", "order": "ln 5", "epsilon": "1", "ordered": False},
    ],
)  # fmt: skip
def test_bad_claims(data):
    with pytest.raises(CertificateError):
        read_claim(data)
