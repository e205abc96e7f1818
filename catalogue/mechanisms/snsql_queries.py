"""SmartNoise SQL: queries of one table through a private reader, and its search for bounds.

The table has one row a person: a list of dictionaries. What a query costs is what the reader
itself says.
"""

import math
import warnings

import pandas
import snsql
from snsql.sql._mechanisms import approx_bounds as search

warnings.filterwarnings("ignore")

CLAIMS = {}
MISSING = {}  # why a release does not have what stands below

COLUMNS = {
    "age": {"type": "int", "lower": 0, "upper": 10},
    "share": {"type": "float", "lower": 0.0, "upper": 1.0},
    "city": {"type": "string"},
}
KINDS = {"age": "int64", "share": "float64", "city": "object"}


def reader(rows, censor):
    frame = pandas.DataFrame({key: [row[key] for row in rows] for key in KINDS}).astype(KINDS)
    table = dict(COLUMNS, row_privacy=True, rows=100, censor_dims=censor)
    privacy = snsql.Privacy(epsilon=1.0, delta=0.01)
    return snsql.from_df(frame, privacy=privacy, metadata={"": {"db": {"people": table}}})


def query(name, text, censor=False):
    """The answer to one query, in rows; its price is read from a reader of an empty table."""
    try:
        epsilon, delta = reader([], censor).get_privacy_cost(text)
    except Exception as error:
        MISSING[name] = repr(error)
        return None
    CLAIMS[name] = "epsilon=%r" % float(epsilon)
    if censor or not math.isclose(delta, 0.0):
        CLAIMS[name] += ", delta=%r" % float(delta)
    return lambda rows: [tuple(row) for row in reader(rows, censor).execute(text)[1:]]


count = query("count", "SELECT COUNT(*) AS n FROM db.people")
int_sum = query("int_sum", "SELECT SUM(age) AS n FROM db.people")
float_sum = query("float_sum", "SELECT SUM(share) AS n FROM db.people")
mean = query("mean", "SELECT AVG(share) AS n FROM db.people")
variance = query("variance", "SELECT VAR(share) AS n FROM db.people")
cities = query("cities", "SELECT city, COUNT(*) AS n FROM db.people GROUP BY city", censor=True)


def bounds(values):
    """Bounds of a column that nobody knows beforehand."""
    low, high = search.approx_bounds([float(each) for each in values], 1.0)
    return low, high


CLAIMS["bounds"] = "epsilon=1.0"


def median(values):
    """A quantile that SmartNoise itself does not call; 1.0.6 does not have it any more."""
    return float(search.quantile(values, 0.5, 1.0, 0.0, 1.0))


if hasattr(search, "quantile"):
    CLAIMS["median"] = "epsilon=1.0"
