"""Program texts that the end-to-end tests refute through the command line."""

import tollens
from tollens import noise

SCALE = 0.5
pair = (1, 0)


@tollens.promise("epsilon=1", neighbours=pair)
def half_scale(data):
    return data + noise.laplace(SCALE)


@tollens.promise("epsilon=1", neighbours=pair)
def right_scale(data):
    return data + noise.laplace(1)


@tollens.promise("epsilon=1", neighbours=tollens.queries(3))
def every_answer(data):
    threshold = noise.laplace(2)
    return [answer + noise.laplace(2) >= threshold for answer in data]


def outside(data):
    total = 0
    for value in sorted(data):
        total += value
    return f"{total + noise.laplace(1)}"


def never_ends(data):
    x = data
    while x >= 0:
        x += noise.laplace(1)
    return x


def without_end(data):
    while True:
        data = data + noise.laplace(1)


nameless = lambda data: data + noise.laplace(1)  # noqa: E731


def makes(scale):
    def inner(data):
        return data + noise.laplace(scale)

    return inner


closure = makes(2)
