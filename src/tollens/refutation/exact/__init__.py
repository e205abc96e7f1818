"""Exact probabilities of affine constraints on independent draws, as sums of c e^q."""

from tollens.refutation.exact.elimination import KINDS, Exact
from tollens.refutation.exact.ring import ExpSum
from tollens.refutation.forest import NotAForest

__all__ = ["KINDS", "Exact", "ExpSum", "NotAForest"]
