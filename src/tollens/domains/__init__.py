"""Domains: what the type of an input allows, from which neighbouring pairs are made.

>>> import tollens
>>> from tollens import domains
>>> ages = domains.lists(domains.integers(0, 99))
>>> tollens.add_remove(ages)[0]
Pair(x=[0, 99], x_prime=[0], relation='add_remove, pair 1 of 80')
"""

from tollens.domains.datasets import Datasets, arrays, frames, lists, tables
from tollens.domains.make import (
    bit_vectors,
    booleans,
    choices,
    integers,
    reals,
    rows,
    texts,
    tuples,
    vectors,
)
from tollens.domains.values import Domain

__all__ = [
    "Datasets",
    "Domain",
    "arrays",
    "bit_vectors",
    "booleans",
    "choices",
    "frames",
    "integers",
    "lists",
    "reals",
    "rows",
    "tables",
    "texts",
    "tuples",
    "vectors",
]
