"""The programs of the suite: their paths are runs of CPython, joined or not."""

from __future__ import annotations

import random

import pytest

from tollens.refutation.inputs import exact_relation
from tollens.refutation.program import read_program
from tollens.relations import as_relation
from tollens.zoo.programs import entries

MISSED = ("G1-n8", "G1-ok-n8")
"""Nine normal draws: the tries below do not meet every one of their paths."""

ENTRIES = {entry.id: entry for entry in entries() if entry.id not in MISSED}


@pytest.mark.parametrize("key", ENTRIES)
def test_programs(oracle, key):
    entry = ENTRIES[key]
    source = read_program(entry.function)
    pair = exact_relation(as_relation(tuple(entry.pair)))[0]
    walk = "while" in source.text and "laplace" in source.text  # whose integrals take long
    for data in (pair.x, pair.x_prime):
        for rounds in (4, 2) if walk else (12, 7, 4, 2):
            try:
                oracle.ways(source.text, data, rounds, 40, source.name)
            except oracle.Many:
                continue
            rng = random.Random(key)
            found = oracle.agree(rng, source.text, data, rounds, 60, source.name)
            if not any(draw.kind == "gauss" for way in found for draw in way.state.draws):
                oracle.same_law(source.text, data, rounds, source.name)
            break
        else:
            pytest.skip("too many paths")
