"""diffprivlib's models, each fitted to rows with epsilon = 1; what is released is what it learned.

A row is a list of numbers; where there is a target or a class, it comes last. Bounds, norms and
classes are given, so that none of them is read from the data.
"""

import inspect
import warnings

import numpy as np
from diffprivlib import models

try:
    from diffprivlib import BudgetAccountant
except ImportError:  # 0.2 has none
    BudgetAccountant = None

warnings.filterwarnings("ignore")

CLAIMS = {}
MISSING = {}  # why a release does not have what stands below


def model(name, learned, supervised, **settings):
    """Fit a fresh model in each run, if this release has it, and return what it learned."""
    kind = getattr(models, name, None)
    if kind is None:
        MISSING[name] = "this release has no models." + name
        return None
    taken = inspect.signature(kind.__init__).parameters
    given = {key: value for key, value in settings.items() if key in taken}

    def release(data):
        own = {} if BudgetAccountant is None else {"accountant": BudgetAccountant()}
        made = kind(epsilon=1.0, **given, **own)
        rows = np.array(data, dtype=float)
        if supervised:
            made.fit(rows[:, :-1], rows[:, -1])
        else:
            made.fit(rows)
        return [np.asarray(getattr(made, each)).tolist() for each in learned if hasattr(made, each)]

    return release


gaussian_nb = model(
    "GaussianNB", ["class_count_", "theta_", "var_", "sigma_"], True, bounds=([0.0], [1.0])
)
logistic_regression = model("LogisticRegression", ["coef_", "intercept_"], True, data_norm=1.0)
linear_regression = model(
    *("LinearRegression", ["coef_"], True),
    bounds_X=([0.0], [1.0]), bounds_y=([0.0], [1.0]), data_norm=2.0**0.5,
    range_X=np.array([1.0]), range_y=np.array([1.0]), fit_intercept=False,
)  # fmt: skip
pca = model(
    *("PCA", ["components_", "explained_variance_"], False),
    n_components=1, centered=True, data_norm=1.0, bounds=([-1.0, -1.0], [1.0, 1.0]),
)  # fmt: skip
standard_scaler = model(
    "StandardScaler", ["mean_", "var_"], False, bounds=([0.0], [1.0]), range=np.array([1.0])
)
k_means = model(
    "KMeans", ["cluster_centers_"], False, n_clusters=2, bounds=([0.0, 0.0], [1.0, 1.0])
)


def decision_tree(data):
    """The classes that a tree of depth 1 gives to two points; its splits are drawn blindly."""
    rows = np.array(data, dtype=float)
    own = {} if BudgetAccountant is None else {"accountant": BudgetAccountant()}
    made = models.DecisionTreeClassifier(
        max_depth=1, epsilon=1.0, bounds=([0.0], [1.0]), classes=[0, 1], **own
    )
    made.fit(rows[:, :-1], rows[:, -1].astype(int))
    return [int(each) for each in made.predict(np.array([[0.0], [1.0]]))]


CLAIMS.update(
    dict.fromkeys(
        ["gaussian_nb", "logistic_regression", "linear_regression", "pca", "standard_scaler"]
        + ["k_means", "decision_tree"],
        "epsilon=1.0",
    )
)
