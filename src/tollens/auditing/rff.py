"""Functions of bounded norm that learn to tell outputs of x from outputs of x'.

Both learners below run the same online gradient ascent in a space of functions with a kernel k,
`f(x) = <f, k(x, .)>`, on the ball |f| <= r. With `g_t = k(X_t, .) - k(Y_t, .)` the gap of pair t is
`f_t(X_t) - f_t(Y_t) = <f_t, g_t>`, and

    f_{t+1} = project(f_t + g_t / (2 sqrt(|g_1|^2 + ... + |g_t|^2))),       f_1 = 0.

So f_t depends on the pairs before t only. `ExactFunction` keeps all past pairs, O(t) for pair t;
`FeatureFunction` keeps one vector, O(1). Points are standardised: the bandwidth is 1.
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

FEATURES = 256
"""Random frequencies; each gives a cosine and a sine."""

_LARGEST_GRAM = 2**15  # fits in the cache: two to three times faster than 2**18
_LARGEST_BLOCK = 256


class Function(Protocol):
    """A function that is learned pair by pair."""

    def gaps(self, x: Array, y: Array) -> Array:
        """f_t(X_t) - f_t(Y_t) for n new pairs, points (n, d); f learns each pair after its gap."""


class Ascent:
    """The step of the gradient ascent, which needs inner products only.

    >>> ascent = Ascent(radius=0.5)
    >>> eta, shrink = ascent.step(gap=0.0, square=2.0)  # the first step has length 1/2: on the ball
    >>> round(eta, 4), shrink
    (0.3536, 1.0)
    >>> ascent.step(gap=0.7, square=2.0)[1] < 1     # the second one would leave it
    True
    """

    def __init__(self, radius: float) -> None:
        self.radius = radius
        self.norm_square = 0.0
        self._squares = 0.0

    def step(self, gap: float, square: float) -> tuple[float, float]:
        """`(eta, shrink)` such that the next f is `shrink (f + eta g)`, with `square` = |g|^2.

        Pairs of equal outputs teach nothing: as long as all g are 0 there is no step.
        """
        self._squares += square
        if self._squares <= 0.0:
            return 0.0, 1.0
        eta = 0.5 / math.sqrt(self._squares)
        reached = max(0.0, self.norm_square + 2.0 * eta * gap + eta * eta * square)
        if reached <= self.radius * self.radius:
            self.norm_square = reached
            return eta, 1.0
        self.norm_square = self.radius * self.radius
        return eta, self.radius / math.sqrt(reached)


def gaussian_kernel(a: Array, b: Array) -> Array:
    """exp(-|a_i - b_j|^2 / 2) for points (n, d) and (m, d): (n, m).

    >>> gaussian_kernel(np.zeros((1, 1)), np.array([[0.0], [1.0]])).round(4).tolist()
    [[1.0, 0.6065]]
    """
    squares = np.zeros((len(a), len(b)))
    for column in range(a.shape[1]):
        apart = a[:, column, None] - b[None, :, column]
        apart *= apart
        squares += apart
    squares *= -0.5
    return np.exp(squares, out=squares)


class ExactFunction:
    """f = sum of c_i g_i over all past pairs, with the Gaussian kernel.

    Pair t costs 4 t kernel evaluations; they are made for a block of pairs at a time, since they
    do not depend on f.
    """

    def __init__(self, width: int, radius: float) -> None:
        self.pairs = 0
        self._ascent = Ascent(radius)
        self._x, self._y = np.zeros((64, width)), np.zeros((64, width))
        self._c = np.zeros(64)

    def gaps(self, x: Array, y: Array) -> Array:
        """The gaps of n new pairs; see `Function`."""
        found = np.zeros(len(x))
        start = 0
        while start < len(x):
            size = min(_LARGEST_BLOCK, max(1, _LARGEST_GRAM // (self.pairs + _LARGEST_BLOCK)))
            stop = min(len(x), start + size)
            found[start:stop] = self._block(x[start:stop], y[start:stop])
            start = stop
        return found

    def _block(self, x: Array, y: Array) -> Array:
        old, new = self.pairs, self.pairs + len(x)
        self._grow(new)
        self._x[old:new], self._y[old:new] = x, y
        past_x, past_y = self._x[:new], self._y[:new]
        gram = gaussian_kernel(x, past_x) - gaussian_kernel(x, past_y)
        gram += gaussian_kernel(y, past_y) - gaussian_kernel(y, past_x)
        found = np.zeros(len(x))
        for row, t in enumerate(range(old, new)):
            found[row] = gap = float(gram[row, :t] @ self._c[:t])
            eta, shrink = self._ascent.step(gap, float(gram[row, t]))
            self._c[t] = eta
            if shrink < 1.0:
                self._c[: t + 1] *= shrink
        self.pairs = new
        return found

    def _grow(self, pairs: int) -> None:
        if pairs > len(self._c):
            more = max(pairs, 2 * len(self._c)) - len(self._c)
            self._x, self._y = (np.pad(z, ((0, more), (0, 0))) for z in (self._x, self._y))
            self._c = np.pad(self._c, (0, more))


class FeatureFunction:
    """f is a vector: random Fourier features of the Gaussian kernel (Rahimi and Recht 2007).

    With D standard normal frequencies w_j and

        phi(x) = (cos w_1 x, sin w_1 x, ..., cos w_D x, sin w_D x) / sqrt(D)

    the kernel of these features is `k_D(x, y) = phi(x) . phi(y) = mean_j cos w_j (x - y)`, which
    tends to the Gaussian kernel. Exactly, for every D, k_D(x, x) = 1 and |k_D| <= 1 (the common
    map sqrt(2/D) cos(w x + b) has neither). So |phi(x) - phi(y)|^2 = 2 - 2 k_D(x, y) <= 4 and a
    function of norm r has |f(x) - f(y)| <= r |phi(x) - phi(y)| <= 2 r = c, where the Gaussian
    kernel, which is never negative, has c = sqrt(2) r. By (*) of `tollens.auditing.kernel` such an
    f gains at most c T under a claim, which for r = 1 and (eps, delta) is the constant

        tau = 2 (1 - 2 (1 - delta) / (1 + e^eps)),

    and since `f(X) - f(Y) - tau >= -(2 r + tau)` for every pair, stakes of at most
    `1 / (2 (2 r + tau))` leave at least half of the wealth. Nothing here is approximate: D and the
    frequencies change the power, not the error probability.
    """

    def __init__(self, width: int, radius: float, rng: np.random.Generator) -> None:
        self._ascent = Ascent(radius)
        self._frequencies = rng.standard_normal((width, FEATURES))
        self._f = np.zeros(2 * FEATURES)

    def features(self, points: Array) -> Array:
        """phi of points (n, d): (n, 2 FEATURES), each of norm 1."""
        phase = np.zeros((len(points), FEATURES))
        for column, frequencies in enumerate(self._frequencies):  # the same for any block size
            phase += np.multiply.outer(points[:, column], frequencies)
        return np.concatenate([np.cos(phase), np.sin(phase)], axis=1) / math.sqrt(FEATURES)

    def gaps(self, x: Array, y: Array) -> Array:
        """The gaps of n new pairs; see `Function`."""
        found = np.zeros(len(x))
        for start in range(0, len(x), _LARGEST_BLOCK):
            part = slice(start, start + _LARGEST_BLOCK)
            g = self.features(x[part]) - self.features(y[part])
            squares = np.einsum("ij,ij->i", g, g).tolist()
            for row, square in enumerate(squares):
                gap = float(self._f @ g[row])
                eta, shrink = self._ascent.step(gap, square)
                self._f += eta * g[row]
                if shrink < 1.0:
                    self._f *= shrink
                found[start + row] = gap
        return found
