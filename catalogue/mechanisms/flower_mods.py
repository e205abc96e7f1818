"""Flower's noise for the update of one client, clipped to norm 1."""

import numpy as np
from flwr.common import ndarrays_to_parameters, parameters_to_ndarrays
from flwr.common.differential_privacy import add_localdp_gaussian_noise_to_params

DELTA = 1e-3


def noisy(update, n, epsilon):
    """n releases at once: the noise of each coordinate is drawn for itself."""
    many = ndarrays_to_parameters([np.tile(np.array(update, dtype=float), (n, 1))])
    return parameters_to_ndarrays(add_localdp_gaussian_noise_to_params(many, 1.0, epsilon, DELTA))[
        0
    ]


def local_gaussian_small(update, n, rng):
    return noisy(update, n, 0.9)


def local_gaussian_large(update, n, rng):
    return noisy(update, n, 10.0)


CLAIMS = {
    "local_gaussian_small": "epsilon=0.9, delta=%r" % DELTA,
    "local_gaussian_large": "epsilon=10.0, delta=%r" % DELTA,
}
