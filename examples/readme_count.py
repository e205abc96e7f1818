"""The first example: a count with half the noise that its promise needs."""

import tollens


def noisy_count(rows, rng):
    return len(rows) + rng.laplace(scale=0.5)  # a bug: epsilon = 1 needs scale 1


if __name__ == "__main__":
    verdict = tollens.audit(noisy_count, tollens.pure(1.0), neighbours=([1, 1, 1], [1, 1]))
    print(verdict)
