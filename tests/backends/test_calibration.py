"""The Monte Carlo calibration on a cluster: the errors that forks of one process count."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_rows_are_those_of_one_machine(dask_url, tmp_path):
    rows = []
    for name, where in (("here", ()), ("there", ("--backend", dask_url))):
        output = tmp_path / f"{name}.json"
        command = [sys.executable, "-m", "benchmarks.calibrate", "--only", "true 1, claim 0.25"]
        command += ["--leak-runs", "6", "--runs", "6", "--pairs", "120", "-o", str(output), *where]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert output.exists(), done.stderr
        rows.append(
            [
                {key: row[key] for key in ("case", "runs", "pairs", "errors", "refuted")}
                for row in json.loads(output.read_text())["rows"]
            ]
        )
    assert rows[0] == rows[1]
    assert sum(row["refuted"] for row in rows[0]) > 0
