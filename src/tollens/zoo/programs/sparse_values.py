"""Sparse vector techniques that answer with numbers, all with the threshold 0.

With the gap to the noisy threshold (Wang, Ding, Wang, Kifer, Zhang 2019, "Proving differential
privacy with shadow execution"; Ding et al. 2019, "Free gap information") or with a fresh noisy
answer they are private; with the noisy query itself they are not.
"""

from __future__ import annotations

from tollens import noise

FAR = 2  # a query so far above the threshold gets the cheap answer
BUDGET = 0.5  # what answers may cost in all
CHEAP = 0.25  # 2/8, where 8 is the scale of the noise
CLOSER = 0.5  # 2/4


def gap(data: list[int]) -> list[float]:
    """Zeros, and at the first query above the threshold its distance to it."""
    threshold = noise.laplace(2)
    answers = []
    for query in data:
        noisy = query + noise.laplace(4)
        if noisy >= threshold:
            answers.append(noisy - threshold)
            break
        answers.append(0)
    return answers


def noisy_query(data: list[int]) -> list[float]:
    """The same with the noisy query in place of the distance (Lyu, Su, Li, algorithm 3)."""
    threshold = noise.laplace(2)
    answers = []
    for query in data:
        noisy = query + noise.laplace(4)
        if noisy >= threshold:
            answers.append(noisy)
            break
        answers.append(0)
    return answers


def fresh_value(data: list[int]) -> list[float]:
    """Zeros, and at the first query above the threshold its value with fresh noise."""
    threshold = noise.laplace(3)
    answers = []
    for query in data:
        if query + noise.laplace(6) >= threshold:
            answers.append(query + noise.laplace(3))
            break
        answers.append(0)
    return answers


def adaptive(data: list[int]) -> list[float]:
    """A look with much noise first; the gap, where it is large, otherwise a closer look.

    The budget is spent answer by answer, so that cheap answers leave more of it for others.
    """
    threshold = noise.laplace(2)
    cost = 0.0
    answers = []
    for query in data:
        if cost + CLOSER > BUDGET:
            break
        cheap = query + noise.laplace(8)
        closer = query + noise.laplace(4)
        if cheap - threshold >= FAR:
            answers.append(cheap - threshold)
            cost += CHEAP
        elif closer >= threshold:
            answers.append(closer - threshold)
            cost += CLOSER
        else:
            answers.append(0)
    return answers


def adaptive_noisy_query(data: list[int]) -> list[float]:
    """The same with the noisy query in place of the gap after the cheap look."""
    threshold = noise.laplace(2)
    cost = 0.0
    answers = []
    for query in data:
        if cost + CLOSER > BUDGET:
            break
        cheap = query + noise.laplace(8)
        closer = query + noise.laplace(4)
        if cheap - threshold >= FAR:
            answers.append(cheap)
            cost += CHEAP
        elif closer >= threshold:
            answers.append(closer - threshold)
            cost += CLOSER
        else:
            answers.append(0)
    return answers
