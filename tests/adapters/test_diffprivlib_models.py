"""Real diffprivlib models: fitted afresh in each run, released whole, and charged to nobody."""

import numpy as np
import pytest

import tollens
from tollens.adapters import adapt, promised
from tollens.claim import pure
from tollens.errors import UsageError
from tollens.outputs import Raised

pytestmark = pytest.mark.libraries
diffprivlib = pytest.importorskip("diffprivlib")
models = pytest.importorskip("diffprivlib.models")

RNG = np.random.default_rng(0)
ROWS = [(0.0, 0), (0.2, 0), (0.4, 0), (0.5, 1), (0.8, 1), (1.0, 1)]
POINTS = [[0.1, 0.2], [0.3, -0.1], [-0.5, 0.4]]
BOUNDS = (0.0, 1.0)


@pytest.mark.parametrize(
    ("model", "data", "learned"),
    [
        (
            models.GaussianNB(epsilon=0.5, bounds=BOUNDS),
            ROWS,
            ["class_count_", "class_prior_", "classes_", "epsilon_", "theta_", "var_"],
        ),
        (
            models.LogisticRegression(epsilon=0.5, data_norm=1.0),
            ROWS,
            ["classes_", "coef_", "intercept_", "n_iter_"],
        ),
        (
            models.LinearRegression(epsilon=0.5, bounds_X=BOUNDS, bounds_y=BOUNDS),
            ROWS,
            ["coef_", "intercept_"],
        ),
        (models.StandardScaler(epsilon=0.5, bounds=(-1, 1)), POINTS, ["mean_", "scale_", "var_"]),
        (
            models.KMeans(2, epsilon=0.5, bounds=(-1, 1)),
            POINTS,
            ["cluster_centers_", "inertia_", "labels_", "n_iter_"],
        ),
    ],
)
def test_what_a_model_learned_is_released(model, data, learned):
    mechanism = adapt(model)
    assert mechanism.promise == pure(0.5) and promised(model) == pure(0.5)
    assert mechanism.name == f"diffprivlib {type(model).__name__}(epsilon=0.5)"
    assert mechanism.packages == ("diffprivlib",)
    outputs = mechanism.sample(data, 3, RNG)
    assert not any(isinstance(output, Raised) for output in outputs), outputs
    assert set(learned) >= set(outputs[0]) >= set(learned) - {"classes_", "n_iter_"}
    assert not hasattr(model, learned[0]) or getattr(model, learned[0]) is None  # it is not fitted


def test_pca_takes_arrays_and_the_number_of_rows_is_public():
    pca = models.PCA(1, epsilon=1.0, bounds=(-1, 1), data_norm=2.0, centered=True)
    (output,) = adapt(pca).sample(np.array(POINTS), 1, RNG)
    assert output["components_"].shape == (1, 2)
    assert "n_samples_" not in output


def test_a_frame_gives_its_last_column_as_the_target():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"x": [x for x, _ in ROWS], "label": [y for _, y in ROWS]})
    (output,) = adapt(models.GaussianNB(bounds=BOUNDS)).sample(frame, 1, RNG)
    assert output["theta_"].shape == (2, 1)


def test_runs_are_charged_to_nobody():
    accountant = diffprivlib.BudgetAccountant(epsilon=1.0)
    model = models.StandardScaler(epsilon=1.0, bounds=(-1, 1), accountant=accountant)
    outputs = adapt(model).sample(POINTS, 5, RNG)
    assert not any(isinstance(output, Raised) for output in outputs)
    assert accountant.total() == (0, 0)


def test_a_fixed_random_state_is_left_to_whoever_set_it():
    fixed = models.StandardScaler(epsilon=1.0, bounds=(-1, 1), random_state=1)
    assert not adapt(fixed).own_entropy
    assert adapt(models.StandardScaler(epsilon=1.0, bounds=(-1, 1))).own_entropy
    first, second = adapt(fixed).sample(POINTS, 2, RNG)
    assert first["mean_"].tolist() == second["mean_"].tolist()


def test_what_cannot_be_fitted_is_an_output():
    assert isinstance(adapt(models.StandardScaler(bounds=(-1, 1))).sample([], 1, RNG)[0], Raised)


@pytest.mark.parametrize("name", ["DecisionTreeClassifier", "RandomForestClassifier"])
def test_trees_are_refused_with_the_way_round(name):
    model = getattr(models, name)(bounds=BOUNDS, classes=[0, 1])
    with pytest.raises(UsageError, match=r"learns trees.*such as its predictions"):
        adapt(model)


def test_the_known_fault_of_linear_regression_is_found():
    model = models.LinearRegression(bounds_X=BOUNDS, bounds_y=BOUNDS, fit_intercept=False)
    neighbours = tollens.substitute([(1.0, 0.0), (0.5, 0.5)], values=[(0.0, 0.0)])
    verdict = tollens.audit(model, neighbours=neighbours, seed=1, budget=5_000)
    assert verdict.refuted


def test_a_model_with_half_of_its_noise_is_found_and_a_right_one_spared():
    class Halved(models.StandardScaler):
        def fit(self, data, y=None, sample_weight=None):
            self.epsilon = 8.0
            fitted = super().fit(data, y)
            self.epsilon = 1.0
            return fitted

    pair = ([[1.0], [1.0]], [[1.0], [-1.0]])
    settings = {"neighbours": pair, "budget": 3_000, "seed": 1}
    assert tollens.audit(Halved(bounds=(-1, 1)), **settings).refuted
    assert not tollens.audit(models.StandardScaler(bounds=(-1, 1)), **settings).refuted
