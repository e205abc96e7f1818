"""Noise as an event of dp_accounting says, against the epsilon of its accountants at delta = 1e-3.

An accountant releases nothing: what is run is the noise that its event describes, of standard
deviation or scale times the clipping norm 1, added to a sum of rows of norm at most 1.
"""

import dp_accounting
import numpy as np
from dp_accounting import pld, rdp

DELTA = 1e-3
ADD = dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE
REPLACE = dp_accounting.NeighboringRelation.REPLACE_ONE

GAUSSIAN = dp_accounting.GaussianDpEvent(2.0)
LAPLACE = dp_accounting.LaplaceDpEvent(1.0)
SAMPLED = dp_accounting.SelfComposedDpEvent(
    dp_accounting.PoissonSampledDpEvent(0.05, dp_accounting.GaussianDpEvent(0.7)), 4
)


def epsilon(accountant, event):
    accountant.compose(event)
    return "epsilon=%r, delta=%r" % (float(accountant.get_epsilon(DELTA)), DELTA)


def gaussian_pld(data, n, rng):
    return sum(data) + rng.normal(0.0, 2.0, n)


gaussian_rdp = gaussian_pld_replaced = gaussian_rdp_replaced = gaussian_pld


def laplace_pld(data, n, rng):
    return sum(data) + rng.laplace(0.0, 1.0, n)


def sampled_gaussian_pld(data, n, rng):
    """Four steps, each on a sample of the rows."""
    rows = np.array(data, dtype=float)
    chosen = rng.random((n, 4, len(rows))) < 0.05
    return (chosen * rows).sum(axis=2) + rng.normal(0.0, 0.7, (n, 4))


sampled_gaussian_rdp = sampled_gaussian_pld

CLAIMS = {
    "gaussian_pld": epsilon(pld.PLDAccountant(ADD), GAUSSIAN),
    "gaussian_rdp": epsilon(rdp.RdpAccountant(neighboring_relation=ADD), GAUSSIAN),
    "gaussian_rdp_replaced": epsilon(rdp.RdpAccountant(neighboring_relation=REPLACE), GAUSSIAN),
    "laplace_pld": epsilon(pld.PLDAccountant(ADD), LAPLACE),
    "sampled_gaussian_pld": epsilon(pld.PLDAccountant(ADD), SAMPLED),
    "sampled_gaussian_rdp": epsilon(rdp.RdpAccountant(neighboring_relation=ADD), SAMPLED),
}
try:
    CLAIMS["gaussian_pld_replaced"] = epsilon(pld.PLDAccountant(REPLACE), GAUSSIAN)
except Exception:  # this release has no such relation
    del gaussian_pld_replaced
