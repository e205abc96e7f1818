"""Sparse vector technique: queries of sensitivity 1 against a noisy threshold.

The broken forms are those of Lyu, Su, Li, "Understanding the sparse vector technique for
differential privacy", arXiv 1603.01699.
"""

from __future__ import annotations

from tollens import noise

THRESHOLD = 1


def no_stop(data: list[int]) -> list[bool]:
    """Answer every query, however many lie above (algorithm 6)."""
    threshold = THRESHOLD + noise.laplace(2)
    answers = []
    for query in data:
        answers.append(query + noise.laplace(2) >= threshold)
    return answers
