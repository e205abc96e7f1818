"""Mechanisms that the end-to-end tests audit through the command line."""

import time

import numpy as np

import tollens

pair = ([1, 1, 1], [1, 1])
not_a_pair = [1, 2, 3]


@tollens.promise("epsilon=1", neighbours=pair)
def half_noise(rows, rng):
    return len(rows) + rng.laplace(scale=0.5)


@tollens.promise("epsilon=1", neighbours=pair)
@tollens.batched
def right_noise(rows, n, rng):
    return len(rows) + rng.laplace(scale=1.0, size=n)


def own_randomness(rows):
    return len(rows) + np.random.default_rng().laplace()


def slow(rows, rng):
    time.sleep(0.002)
    return len(rows) + rng.laplace()


def hangs(rows):
    time.sleep(60)


def hangs_on_three(rows):
    if len(rows) == 3:
        time.sleep(60)
    return 0


def always_raises(rows):
    raise ValueError("no such table")


def raises_on_three(rows):
    if len(rows) == 3:
        raise ValueError("three rows")
    return 0


def same_constant(rows):
    return 7


def fixed_seed(rows):
    return len(rows) + np.random.default_rng(1).laplace()


def mutates(rows, rng):
    rows.append(1)
    return len(rows) + rng.laplace()


def shapes_leak(rows, rng):
    return np.zeros(len(rows)) + rng.laplace(size=len(rows))


def shapes_vary(rows, rng):
    return rng.laplace(size=int(rng.integers(1, 4)))


@tollens.batched
def short_batch(rows, n, rng):
    return rng.laplace(size=n - 1)


@tollens.batched
def even_answers(answers, n, rng):
    return np.asarray(answers) + rng.laplace(scale=1.0, size=(n, len(answers)))


@tollens.batched
def weak_middle(answers, n, rng):
    return np.asarray(answers) + rng.laplace(scale=[1.0, 0.3, 1.0], size=(n, len(answers)))
