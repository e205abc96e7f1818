"""Random streams: the same from the same seed, different for every use."""

from __future__ import annotations

import copy
import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kstest

from tollens.streams import EvidenceStream, SearchStream, Side, fresh_seed

SEEDS = st.integers(0, 2**64)
BLOCKS = st.integers(0, 2**32 - 1)


def first(generator):
    return tuple(generator.integers(2**63, size=2).tolist())


@given(SEEDS, st.sampled_from(Side), BLOCKS)
def test_a_stream_is_a_function_of_seed_side_and_block(seed, side, block):
    again = EvidenceStream(seed).generator(side, block)
    assert first(EvidenceStream(seed).generator(side, block)) == first(again)


@given(
    SEEDS,
    st.lists(st.tuples(st.sampled_from(Side), BLOCKS, BLOCKS, BLOCKS), unique=True, min_size=2),
)
def test_no_two_streams_of_evidence_are_the_same(seed, uses):
    stream = EvidenceStream(seed)
    assert len({first(stream.generator(*use)) for use in uses}) == len(uses)


@given(SEEDS, BLOCKS, BLOCKS)
def test_search_never_sees_a_stream_of_evidence(seed, block, purpose):
    search = first(SearchStream(seed).generator(purpose))
    for side in Side:
        assert first(EvidenceStream(seed).generator(side, block)) != search


def test_seeds_next_to_each_other_share_nothing():
    draws = [
        first(EvidenceStream(seed).generator(side, block))
        for seed, side, block in itertools.product(range(20), Side, range(20))
    ]
    draws += [first(SearchStream(seed).generator(p)) for seed in range(20) for p in range(20)]
    assert len(set(draws)) == len(draws)


def test_the_two_sides_are_not_correlated():
    x = EvidenceStream(1).generator(Side.X, 0).normal(size=20_000)
    y = EvidenceStream(1).generator(Side.X_PRIME, 0).normal(size=20_000)
    assert abs(np.corrcoef(x, y)[0, 1]) < 0.03


def test_the_two_kinds_of_stream_are_different_types():
    assert not isinstance(SearchStream(1), EvidenceStream)
    with pytest.raises(TypeError):
        SearchStream(1).generator(Side.X, 0)
    with pytest.raises(TypeError):
        EvidenceStream(1).generator(0)


def test_fresh_seeds_differ_and_can_be_typed():
    seeds = {fresh_seed() for _ in range(100)}
    assert len(seeds) == 100
    assert all(0 <= seed < 2**48 for seed in seeds)


class TestShared:
    @given(SEEDS, BLOCKS, st.integers(1, 5))
    def test_both_sides_get_the_same_draws_run_by_run(self, seed, block, n):
        stream = EvidenceStream(seed)
        greedy = [rng.random(1 + 5 * i)[0] for i, rng in enumerate(stream.shared(block, n))]
        modest = [rng.random() for rng in stream.shared(block, n)]
        assert greedy == modest
        assert len(set(modest)) == n

    @given(SEEDS, BLOCKS)
    def test_no_shared_run_is_an_independent_one(self, seed, block):
        stream = EvidenceStream(seed)
        shared = {first(rng) for b in (block, block + 1) for rng in stream.shared(b, 3)}
        others = {first(stream.generator(side, b)) for side in Side for b in (block, block + 1)}
        others |= {first(SearchStream(seed).generator(purpose)) for purpose in (block, 0, 1)}
        assert len(shared) == 6
        assert not shared & others

    def test_nothing_is_left_over_from_the_run_before(self):
        stream = EvidenceStream(1)
        used = []
        for rng in stream.shared(0, 3):
            rng.integers(2**32, dtype=np.uint32)  # takes half of a draw
            used.append(rng.normal())
        fresh = [rng.normal() for rng in stream.shared(0, 3)]
        assert not set(used) & set(fresh)

    def test_chunks_share_nothing(self):
        stream = EvidenceStream(1)
        draws = [first(rng) for c in range(4) for b in range(4) for rng in stream.shared(b, 8, c)]
        assert len(set(draws)) == len(draws) == 128

    def test_a_run_does_not_depend_on_how_many_follow(self):
        stream = EvidenceStream(1)
        few, many = ([first(rng) for rng in stream.shared(0, n)] for n in (3, 8))
        assert few == many[:3]

    def test_runs_of_a_chunk_are_not_correlated(self):
        draws = np.array([rng.normal(size=2000) for rng in EvidenceStream(1).shared(0, 64)])
        correlations = np.corrcoef(draws)[np.triu_indices(64, 1)]
        assert np.abs(correlations).max() < 0.11  # 5 standard deviations
        assert abs(np.sqrt(2000) * correlations.std() - 1) < 0.1

    def test_first_draws_are_uniform(self):
        stream = EvidenceStream(1)
        values = np.array(
            [rng.random() for chunk in range(40) for rng in stream.shared(0, 500, chunk)]
        )
        assert kstest(values, "uniform").pvalue > 1e-3
        assert abs(np.corrcoef(values[1:], values[:-1])[0, 1]) < 0.03

    def test_children_of_shared_generators_are_fresh(self):
        children = [
            first(rng.spawn(2)[i])
            for seed in (1, 2)
            for block in (0, 1)
            for chunk in (0, 1)
            for rng in EvidenceStream(seed).shared(block, 2, chunk)
            for i in range(2)
        ]
        assert len(set(children)) == 32

    def test_children_do_not_depend_on_the_runs_before(self):
        stream = EvidenceStream(1)
        greedy = [first(rng.spawn(1 + i)[0]) for i, rng in enumerate(stream.shared(0, 4))]
        assert greedy == [first(rng.spawn(1)[0]) for rng in stream.shared(0, 4)]

    def test_other_generators_can_be_made_of_the_same_seed(self):
        rngs = list(EvidenceStream(1).shared(0, 2))
        made = [np.random.Generator(np.random.MT19937(r.bit_generator.seed_seq)) for r in rngs]
        draws = {first(rng) for rng in (*rngs, *made)}
        assert len(draws) == 4

    def test_generators_can_be_copied_and_pickled(self):
        (rng,) = EvidenceStream(1).shared(0, 1)
        again = [copy.deepcopy(rng), pickle.loads(pickle.dumps(rng))]
        children = {first(generator.spawn(1)[0]) for generator in again}
        assert {first(generator) for generator in (rng, *again)} == {first(rng_again())}
        assert len(children) == 1


def rng_again():
    (rng,) = EvidenceStream(1).shared(0, 1)
    return rng
