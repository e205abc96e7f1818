"""Exact probabilities of affine constraints on independent draws, as sums of c e^q."""

from tollens.refutation.exact.elimination import KINDS, Exact, NotAForest
from tollens.refutation.exact.ring import ExpSum

__all__ = ["KINDS", "Exact", "ExpSum", "NotAForest"]
