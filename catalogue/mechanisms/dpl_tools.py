"""diffprivlib's tools: statistics of a list of numbers, each with epsilon = 1.

Before 0.4 bounds are called a range. The mean, the variance and their kin take the number of rows
as public; before 0.3 they take the width of a range only.
"""

import inspect
import warnings

import numpy as np
from diffprivlib import tools

try:
    from diffprivlib import BudgetAccountant
except ImportError:  # 0.2 has none
    BudgetAccountant = None

warnings.filterwarnings("ignore")

CLAIMS = {}
MISSING = {}  # why a release does not have what stands below


def tool(name, lower, upper, **settings):
    """A statistic of numbers between these bounds, if this release has it."""
    function = getattr(tools, name, None)
    if function is None:
        MISSING[name] = "this release has no tools." + name
        return None
    if "bounds" in inspect.signature(function).parameters:
        settings["bounds"] = lower, upper
    elif BudgetAccountant is None:  # 0.2 takes the width
        settings["range"] = upper - lower
    else:
        settings["range"] = lower, upper
    CLAIMS[name] = "epsilon=1.0"

    def release(data):
        return float(function(np.array(data, dtype=float), epsilon=1.0, **settings, **own()))

    return release


def own():
    """An accountant of its own: the runs of an audit are no releases."""
    return {} if BudgetAccountant is None else {"accountant": BudgetAccountant()}


mean = tool("mean", 0.0, 1.0)
nanmean = tool("nanmean", 0.0, 1.0)
var = tool("var", 0.0, 1.0)
std = tool("std", 0.0, 1.0)
nansum = tool("nansum", 0.0, 1.0)
median = tool("median", 0.0, 1.0)
quantile = tool("quantile", 0.0, 1.0, quant=0.25)
sum = tool("sum", 0.0, 1.0)
large_sum = tool("sum", 2.0**52, 2.0**52 + 1.0)
CLAIMS["large_sum"] = CLAIMS["histogram"] = CLAIMS["count_nonzero"] = "epsilon=1.0"


def histogram(data):
    """Counts of four bins between 0 and 1; rows come and go."""
    bins, _ = tools.histogram(np.array(data), epsilon=1.0, bins=4, range=(0.0, 1.0), **own())
    return [int(each) for each in bins]


def count_nonzero(data):
    return int(tools.count_nonzero(np.array(data), epsilon=1.0, **own()))
