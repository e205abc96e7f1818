"""diffprivlib's mechanisms: noise and choices. Before 0.4 they are set up step by step.

Each function here releases one value of its data; its promise is the epsilon and delta that the
mechanism was given, for values that differ by its sensitivity.
"""

import inspect
import warnings

import numpy as np
from diffprivlib import mechanisms

warnings.filterwarnings("ignore")

CLAIMS = {}
MISSING = {}  # why a release does not have what stands below


def set_up(name, **settings):
    """A mechanism with these settings, in the way of its release."""
    kind = getattr(mechanisms, name)
    taken = inspect.signature(kind.__init__).parameters
    if len(taken) > 1:
        return kind(**{key: value for key, value in settings.items() if key in taken})
    made = kind()
    if "delta" in settings:
        made.set_epsilon_delta(settings.pop("epsilon"), settings.pop("delta"))
    if "lower" in settings:
        made.set_bounds(settings.pop("lower"), settings.pop("upper"))
    if "value0" in settings:
        made.set_labels(settings.pop("value0"), settings.pop("value1"))
    for key, value in settings.items():
        getattr(made, "set_" + key)(value)
    return made


def mechanism(name, **settings):
    """Set a mechanism up once, if this release has it."""

    def build(make):
        try:
            release = make(set_up(name, **settings))
        except Exception as error:
            MISSING[make.__name__] = repr(error)
            return None
        claim = "epsilon=%r" % float(settings["epsilon"])
        if settings.get("delta"):
            claim += ", delta=%r" % settings["delta"]
        CLAIMS[make.__name__] = claim
        return release

    return build


@mechanism("Laplace", epsilon=1.0, sensitivity=1.0)
def laplace(made):
    return made.randomise


@mechanism("LaplaceTruncated", epsilon=1.0, sensitivity=1.0, lower=0.0, upper=3.0)
def laplace_truncated(made):
    return made.randomise


@mechanism("LaplaceFolded", epsilon=1.0, sensitivity=1.0, lower=0.0, upper=3.0)
def laplace_folded(made):
    return made.randomise


@mechanism("LaplaceBoundedDomain", epsilon=1.0, sensitivity=1.0, lower=0.0, upper=3.0)
def laplace_bounded_domain(made):
    return made.randomise


@mechanism("LaplaceBoundedNoise", epsilon=1.0, delta=0.1, sensitivity=1.0)
def laplace_bounded_noise(made):
    return made.randomise


@mechanism("Uniform", epsilon=0.0, delta=0.2, sensitivity=1.0)
def uniform(made):
    return made.randomise


@mechanism("Staircase", epsilon=1.0, sensitivity=1.0, gamma=0.4)
def staircase(made):
    return made.randomise


@mechanism("Snapping", epsilon=1.0, sensitivity=1.0, lower=-10.0, upper=10.0)
def snapping(made):
    return made.randomise


@mechanism("Gaussian", epsilon=0.5, delta=1e-3, sensitivity=1.0)
def gaussian(made):
    return made.randomise


@mechanism("GaussianAnalytic", epsilon=1.0, delta=1e-2, sensitivity=1.0)
def gaussian_analytic(made):
    return made.randomise


@mechanism("GaussianDiscrete", epsilon=1.0, delta=1e-2, sensitivity=1)
def gaussian_discrete(made):
    return made.randomise


@mechanism("Geometric", epsilon=1.0, sensitivity=1)
def geometric(made):
    return made.randomise


@mechanism("GeometricTruncated", epsilon=1.0, sensitivity=1, lower=0, upper=5)
def geometric_truncated(made):
    return made.randomise


@mechanism("GeometricFolded", epsilon=1.0, sensitivity=1, lower=0, upper=5)
def geometric_folded(made):
    return made.randomise


@mechanism("Binary", epsilon=1.0, value0="no", value1="yes")
def binary(made):
    return made.randomise


def choose(name, utilities):
    """The index that a mechanism of choice takes; it is made for these utilities."""
    kind = getattr(mechanisms, name)
    made = kind(epsilon=1.0, sensitivity=1.0, utility=[float(each) for each in utilities])
    return int(made.randomise())


def choice(name):
    """A function of the utilities, if this release makes such mechanisms of a list of them."""

    def build(make):
        try:
            choose(name, [0.0, 1.0])
        except Exception as error:
            MISSING[make.__name__] = repr(error)
            return None
        CLAIMS[make.__name__] = "epsilon=1.0"
        return lambda utilities: choose(name, utilities)

    return build


@choice("Exponential")
def exponential():
    pass


@choice("PermuteAndFlip")
def permute_and_flip():
    pass


@mechanism("ExponentialHierarchical", epsilon=1.0, hierarchy=[["a", "b"], ["c", "d"]])
def exponential_hierarchical(made):
    return made.randomise


@mechanism("Wishart", epsilon=1.0, sensitivity=1.0)
def wishart(made):
    """Noise for the matrix of second moments, here of one column: a sum of squares."""
    return lambda total: float(made.randomise(np.array([[total]]))[0, 0])
