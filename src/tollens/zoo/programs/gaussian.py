"""Normal noise on one number that a record changes by at most 1."""

from __future__ import annotations

from tollens import noise

CLASSIC = 4.8449  # a little above sqrt(2 ln(1.25/delta)), delta = 1e-5
WITHOUT_TWO = 3.4258  # sqrt(ln(1.25/delta))
LEAST = 3.7307  # a little above the least deviation for epsilon = 1, delta = 1e-5
RHO = 1


def gauss_unit(data: float) -> float:
    """Noise of standard deviation 1."""
    return data + noise.gauss(1)


def gauss_four_fifths(data: float) -> float:
    """Noise of standard deviation 4/5."""
    return data + noise.gauss(0.8)


def gauss_classic(data: float) -> float:
    """The classic calibration to epsilon = 1, delta = 1e-5 (Dwork, Roth 2014, theorem A.1)."""
    return data + noise.gauss(CLASSIC)


def gauss_classic_without_two(data: float) -> float:
    """The same without the constant 2 under the root."""
    return data + noise.gauss(WITHOUT_TWO)


def gauss_least(data: float) -> float:
    """The least noise for epsilon = 1, delta = 1e-5 (Balle, Wang 2018)."""
    return data + noise.gauss(LEAST)


def gauss_root_forgotten(data: float) -> float:
    """1/(2 rho) is the variance for rho-zCDP, here taken for the deviation."""
    return data + noise.gauss(1 / (2 * RHO))
