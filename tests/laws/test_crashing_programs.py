"""Programs that crash: the error probability holds, and would not if crashes were drawn again."""

from __future__ import annotations

from shutil import which

import numpy as np
import pytest

import tollens
from tollens.outputs import CRASH

pytestmark = pytest.mark.skipif(which("bash") is None, reason="needs bash, which starts fast")

PROGRAM = r"""
while read -r line; do
  data=${line#*\"data\": }; data=${data%%,*}
  n=${line#*\"n\": }; n=${n%%,*}
  seed=${line##*\"seed\": }; seed=${seed%\}}
  for ((i = 0; i < n; i++)); do
    seed=$(((seed * 6364136223846793005 + 1442695040888963407) & 0x7fffffffffffffff))
    toss=$(((seed >> 33) % 1000)) coin=$(((seed >> 48) % 1000))
    RUN
  done
done
"""

RESPONSE = r"""
    if ((data ? toss < 600 : toss < 93)); then exit 1; fi
    echo "{\"output\": \"$( ((data ? toss < 800 : toss < 973)) && echo A || echo B)\"}"
"""
"""Keeps epsilon = 2. Of the runs that do not crash, B are 3 % on x and 50 % on x'."""

CHANCE = r"""
    if ((coin < 300)); then exit 1; fi
    echo "{\"output\": $((toss < 880 ? data : 1 - data))}"
"""
"""Randomised response at epsilon = 2 that crashes by chance."""

ONE_SIDE = CHANCE.replace("coin < 300", "data && coin < 300")
SETTINGS = {"claim": "epsilon=2", "neighbours": (0, 1)}


def program(run: str) -> tollens.mechanism.Mechanism:
    argv = ["bash", "-c", PROGRAM.replace("RUN", run)]
    return tollens.command(argv, name="program", seeded=True)


@pytest.mark.parametrize("run", [RESPONSE, CHANCE], ids=["response", "chance"])
def test_the_error_probability_holds(run):
    mechanism, alpha, audits = program(run), 0.2, 10
    settings = {**SETTINGS, "alpha": alpha, "budget": 40}
    refuted = sum(tollens.audit(mechanism, **settings, seed=k).refuted for k in range(audits))
    assert refuted / audits <= alpha + 3 * np.sqrt(alpha * (1 - alpha) / audits)


def test_crashes_on_one_side_only_are_refuted():
    verdict = tollens.audit(program(ONE_SIDE), **SETTINGS, alpha=1e-3, budget=300, seed=1)
    assert verdict.refuted and "raises Crash" in verdict.witness.text


def test_to_redraw_what_crashed_would_refute_what_is_right():
    mechanism = program(RESPONSE)

    def redrawn(data, rng):
        while (output := mechanism.sample(data, 1, rng)[0]) == CRASH:
            pass
        return output

    verdict = tollens.audit(redrawn, **SETTINGS, alpha=0.2, budget=600, seed=1)
    assert verdict.refuted
