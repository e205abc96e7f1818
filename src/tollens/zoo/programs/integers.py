"""The geometric mechanism in whole numbers (Balcer, Vadhan 2019, "GeoSample").

The answer to a count c in 0, ..., n is the least z with F(z) >= U, where U is drawn evenly from
1, ..., d and F/d is the distribution function of a clamped geometric count whose ratio is
2^k/(2^k + 1). All numbers are integers, so nothing is rounded.
"""

from __future__ import annotations

from tollens import noise

LOW, HIGH = 2, 3  # 2^k and 2^k + 1 with k = 1


def even_below(limit: int) -> int:
    """A whole number below the limit, bit by bit, drawn again where it is too large."""
    while True:
        number, size = 0, 1
        while size < limit:
            number = 2 * number + (1 if noise.flip(0.5) else 0)
            size *= 2
        if number < limit:
            return number


def power(base: int, exponent: int) -> int:
    """The product of `exponent` times the base."""
    result = 1
    for _ in range(exponent):
        result *= base
    return result


def size_of(top: int) -> int:
    """The number d."""
    return (LOW + HIGH) * power(HIGH, top - 1)


def below(count: int, top: int, z: int) -> int:
    """F(z) for z < count."""
    return power(LOW, count - z) * power(HIGH, top - (count - z))


def not_above(count: int, top: int, z: int) -> int:
    """F(z) for count <= z < top."""
    return size_of(top) - power(LOW, z - count + 1) * power(HIGH, top - 1 - (z - count))


def integer_count(data: tuple[int, int]) -> int:
    """The sampler as published; the data are the count and its largest value."""
    count, top = data
    draw = 1 + even_below(size_of(top))
    for z in range(top):
        f = below(count, top, z) if z < count else not_above(count, top, z)
        if f >= draw:
            return z
    return top


def integer_count_low_exponent(data: tuple[int, int]) -> int:
    """An exponent off by one below the count: F(z - 1) in place of F(z)."""
    count, top = data
    draw = 1 + even_below(size_of(top))
    for z in range(top):
        f = below(count + 1, top, z) if z < count else not_above(count, top, z)
        if f >= draw:
            return z
    return top


def integer_count_high_exponent(data: tuple[int, int]) -> int:
    """An exponent off by one from the count on: F(z - 1) in place of F(z)."""
    count, top = data
    draw = 1 + even_below(size_of(top))
    for z in range(top):
        f = below(count, top, z) if z < count else not_above(count + 1, top, z)
        if f >= draw:
            return z
    return top
