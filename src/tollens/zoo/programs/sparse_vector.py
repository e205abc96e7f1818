"""Sparse vector technique: queries of sensitivity 1 against a noisy threshold.

The forms and the slips are those of Lyu, Su, Li, "Understanding the sparse vector technique for
differential privacy", arXiv 1603.01699.
"""

from __future__ import annotations

from tollens import noise

THRESHOLD = 1
CUTOFF = 2


def above_threshold(data: list[int]) -> list[bool]:
    """Answer until the first query above the threshold (algorithm 1)."""
    threshold = THRESHOLD + noise.laplace(2)
    answers = []
    for query in data:
        above = query + noise.laplace(4) >= threshold
        answers.append(above)
        if above:
            break
    return answers


def sparse_vector(data: list[int]) -> object:
    """Answer one query after the other until two of them lay above (algorithm 1)."""
    threshold = THRESHOLD + noise.laplace(2)
    count = 0
    for query in data:
        if query + noise.laplace(4 * CUTOFF) >= threshold:
            yield True
            count += 1
            if count >= CUTOFF:
                break
        else:
            yield False


def bare_queries(data: list[int]) -> list[bool]:
    """No noise on the queries and no stop (algorithm 5)."""
    threshold = THRESHOLD + noise.laplace(2)
    return [query >= threshold for query in data]


def no_stop(data: list[int]) -> list[bool]:
    """Answer every query, however many lie above (algorithm 6)."""
    threshold = THRESHOLD + noise.laplace(2)
    answers = []
    for query in data:
        answers.append(query + noise.laplace(2) >= threshold)
    return answers


def no_stop_gauss(data: list[int]) -> list[bool]:
    """The same with normal noise of deviation 2."""
    threshold = THRESHOLD + noise.gauss(2)
    answers = []
    for query in data:
        answers.append(query + noise.gauss(2) >= threshold)
    return answers


def little_query_noise(data: list[int]) -> object:
    """Too little noise on the queries, the threshold at 0, stop at the first above (algorithm 4).

    The noise has the scales 1/epsilon_1 and 1/epsilon_2 with epsilon_1 = 1/4, epsilon_2 = 3/4, as
    if a query changed by 1 against a threshold that stands still.
    """
    threshold = noise.laplace(4)
    for query in data:
        if query + noise.laplace(4 / 3) >= threshold:
            yield True
            return
        yield False


def fresh_thresholds(data: list[int]) -> list[bool]:
    """Draw a new threshold after each query above, stop after two (algorithm 2)."""
    threshold = THRESHOLD + noise.laplace(2 * CUTOFF)
    answers = []
    for query in data:
        if query + noise.laplace(4 * CUTOFF) >= threshold:
            answers.append(True)
            if sum(answers) == CUTOFF:
                return answers
            threshold = THRESHOLD + noise.laplace(2 * CUTOFF)
        else:
            answers.append(False)
    return answers


def monotone_queries(data: list[int]) -> list[bool]:
    """Half the noise on queries that a record can only raise, or only lower."""
    threshold = THRESHOLD + noise.laplace(2)
    answers = []
    for query in data:
        above = query + noise.laplace(2) >= threshold
        answers.append(above)
        if above:
            break
    return answers
