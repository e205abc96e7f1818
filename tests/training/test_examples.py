"""The examples of audited training: every bug is found by the part that should, no other run is."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("opacus")

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "training"
MEASURED = json.loads((ROOT / "docs" / "training-measured.json").read_text(encoding="utf-8"))
PAGE = ROOT / "docs" / "training.md"

EXPECTED = {
    "noise-low": ("noise scale", 20),
    "sigma-halved": ("noise scale", 1),
    "noise-averaged": ("noise scale", 1),
    "noise-without-norm": ("noise scale", 1),
    "noise-divided-twice": ("noise scale", 1),
    "same-seed": ("noise reuse", 2),
    "noise-once-an-epoch": ("noise reuse", 2),
    "divided-by-batch": ("release", 5),
    "no-clipping": ("sensitivity", 1),
    "clipping-after-averaging": ("sensitivity", 1),
    "clipping-by-maximum-norm": ("sensitivity", 1),
    "per-layer-clipping": ("sensitivity", 1),
    "mixing-layer": ("input sensitivity", 0),
    "shuffled": ("sampling", 8),
    "wrong-rate": ("sampling", 5),
    "lost-hook": ("accountant", 1),
    "private-size": ("batch size", 0),
}
"""The part that must find a fault, and the step by which it must have done so."""

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def examples():
    """The modules of the examples, by their names."""
    before = set(sys.modules)
    sys.path.insert(0, str(EXAMPLES))
    import digits
    import expected_batch
    import faults

    yield {"digits": digits, "expected_batch": expected_batch, "faults": faults}
    sys.path.remove(str(EXAMPLES))
    for name in {"digits", "expected_batch", "faults"} - before:
        del sys.modules[name]


def found(watch):
    return {finding.part: finding.step for finding in watch.findings if finding.level == "fault"}


class TestFaults:
    def test_all_are_expected_and_measured(self, examples):
        assert set(EXPECTED) | {"none"} == set(examples["faults"].FAULTS) == set(MEASURED["faults"])

    @pytest.mark.parametrize("kind", ["logistic", "mlp"])
    @pytest.mark.parametrize("name", EXPECTED)
    def test_each_is_found_by_the_part_that_looks_at_it(self, examples, name, kind):
        part, latest = EXPECTED[name]
        for seed in (0, 1):
            watch, _ = examples["digits"].train(kind, name, stop=True, steps=25, seed=seed)
            assert watch.broken and watch.report().outcome.name == "REFUTED"
            assert found(watch)[part] <= latest

    @pytest.mark.parametrize("kind", ["logistic", "mlp"])
    def test_what_the_page_says_is_what_is_found(self, kind):
        for name, (part, latest) in EXPECTED.items():
            assert dict(MEASURED["faults"][name][kind])[part] <= latest
        assert MEASURED["faults"]["none"][kind] == []

    def test_the_projection_finds_a_large_one_by_itself(self, examples):
        watch, _ = examples["digits"].train("logistic", "noise-divided-twice", steps=40)
        assert watch.audit.projection.log_e_value > 0
        assert found(watch)["projection"] <= 40

    @pytest.mark.parametrize("kind", ["logistic", "mlp"])
    @pytest.mark.parametrize("seed", range(3))
    def test_correct_runs_have_none(self, examples, kind, seed):
        watch, _ = examples["digits"].train(kind, steps=120, seed=seed)
        assert not watch.broken and not found(watch)
        assert watch.mu_lower <= 1.0

    def test_training_works(self, examples):
        _, accuracy = examples["digits"].train("logistic", steps=100)
        assert accuracy > 0.8


class TestScript:
    def run(self, *options):
        return subprocess.run(
            [sys.executable, "-W", "ignore", str(EXAMPLES / "digits.py"), *options],
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    def test_exits_with_0_and_draws(self, tmp_path):
        done = self.run("--steps", "30", "--plot", str(tmp_path / "run.svg"))
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("UNREFUTED")
        assert ElementTree.parse(tmp_path / "run.svg").getroot().tag.endswith("svg")

    def test_exits_with_1_where_something_is_broken(self):
        done = self.run("--fault", "no-clipping", "--model", "mlp", "--stop")
        assert done.returncode == 1, done.stderr
        assert done.stdout.startswith("REFUTED") and "from step 1" in done.stdout


class TestExpectedBatch:
    def test_the_watch_names_it_without_a_single_bet(self, examples):
        report = examples["expected_batch"].watched()
        assert [f.part for f in report.findings if f.level == "fault"] == ["batch size"]
        assert "divided by 8" in report.findings[0].text and "8/7" in report.findings[0].text
        assert report.refuted and report.refuted_at is None

    def test_an_audit_of_the_score_refutes_within_37_pairs(self, examples):
        verdict = examples["expected_batch"].audited(alpha=0.05)
        assert verdict.refuted and verdict.pairs <= 37

    def test_what_the_page_says(self):
        assert MEASURED["expected_batch"]["pairs"] <= 45
        assert MEASURED["expected_batch"]["report"].startswith("REFUTED")
        assert MEASURED["expected_batch"]["verdict"].startswith("REFUTED")


def test_a_report_is_what_the_page_shows(examples):
    """Its wording, that is: numbers may differ in the last digits from machine to machine."""

    def words(text):
        text = text.split("\nnot tested")[0]
        return re.sub(r"-?\d[\d.,]*(e-\d+)?", "0", re.sub(r" +", " ", text)).split("0")

    watch, _ = examples["digits"].train("logistic")
    shown = MEASURED["correct"]
    assert words(str(watch.report())) == words(shown["text"])
    assert abs(watch.mu_lower - shown["mu_lower"]) < 0.1


def logger_blocks():
    text = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [block for block in blocks if re.search(r"import (mlflow|wandb)", block)]


@pytest.mark.parametrize("library", ["mlflow", "wandb"])
def test_loggers_get_plain_floats(library, monkeypatch, examples):
    logged = []

    class Run:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            return None

        def log(self, values, step):
            logged.append((values, step))

    stand_in = ModuleType(library)
    stand_in.start_run = stand_in.init = lambda **_: Run()
    stand_in.log_metrics = stand_in.log = lambda values, step: logged.append((values, step))
    monkeypatch.setitem(sys.modules, library, stand_in)
    (block,) = (text for text in logger_blocks() if library in text)
    first = PAGE.read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    namespace = {"__name__": "page"}
    torch.manual_seed(0)  # the page trains without a seed
    exec(first, namespace)
    exec(block, namespace)
    assert len(logged) > 5
    for values, step in logged:
        assert type(step) is int
        assert values and all(type(value) is float for value in values.values())
        assert all(type(name) is str for name in values)
    assert any(values["tollens/mu_lower" if library == "wandb" else "mu_lower"] >= 0
               for values, _ in logged)  # fmt: skip


def test_pages_are_made_of_what_was_measured():
    blocks = runpy.run_path(str(ROOT / "docs" / "training.py"))["blocks"](
        lambda head, rows: "\n".join(map(str, [head, *rows])), lambda text: text, None
    )
    for name in EXPECTED:
        assert f"`{name}`" in blocks["training-faults"]()
    assert "300 steps" in blocks["training-correct"]()
