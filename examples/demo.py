"""Six mechanisms of real libraries: three that keep their promise and three that break it.

Those that hold sit exactly at their promise, so that the least excess would be an error. Those
that are broken fail in ways that a look at the noise does not show: the sensitivity is wrong,
the length of the output gives the input away, the mechanism crashes on one of two neighbours.

Needs `opendp` and `diffprivlib`. At most 5 000 pairs of runs decide each at alpha = 1e-6.
"""

import sys
import warnings
from functools import partial
from typing import Literal, NamedTuple

import diffprivlib.mechanisms
import diffprivlib.tools
import numpy as np
import opendp.prelude as dp
from rich.table import Table
from rich.text import Text

import tollens
from tollens.report.progress import ProgressBars
from tollens.report.text import STYLES, console

dp.enable_features("contrib")


class Demo(NamedTuple):
    """A mechanism on a neighbouring pair, and what an audit must say of it.

    `claim` is None where the library's own object is asked what it promises. `why` says in one
    sentence why the promise is kept, or what is wrong.
    """

    title: str
    mechanism: object
    claim: tollens.Claim | None
    neighbours: tuple[object, object]
    expected: Literal["holds", "broken"]
    why: str


ROWS = (dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance())
PAYMENTS = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
BUDGET = 5_000
LIMIT = 10.0

private_count = ROWS >> dp.t.then_count() >> dp.m.then_laplace(scale=1.0)

honest_answer = dp.m.make_randomized_response_bool(prob=0.75)

bounded_count = diffprivlib.mechanisms.GeometricTruncated(epsilon=1.0, lower=0, upper=5)

noise_for_the_limit = dp.m.make_laplace(*PAYMENTS, scale=LIMIT)


def total_payment(payments: list[float]) -> float:
    """Release a sum; the limit of a payment is in the noise, but no payment is clipped to it."""
    return float(noise_for_the_limit(sum(payments)))


noisy_bits = dp.m.make_randomized_response_bitvec(
    dp.bitvector_domain(max_weight=1), dp.discrete_distance(), f=0.5
)

private_median = partial(diffprivlib.tools.quantile, quant=0.5, epsilon=1.0, bounds=(0.0, 1.0))


def mostly_zeros(n: int) -> np.ndarray:
    """Make n rows of which the last is 1 and all others are 0."""
    return np.append(np.zeros(n - 1), 1.0)


DEMO: tuple[Demo, ...] = (
    Demo(
        title="OpenDP: a count with Laplace noise",
        mechanism=private_count,
        claim=None,
        neighbours=([1] * 20, [1] * 19),
        expected="holds",
        why="discrete Laplace noise of scale 1 on a count leaks exactly epsilon = 1",
    ),
    Demo(
        title="OpenDP: randomised response",
        mechanism=honest_answer,
        claim=None,
        neighbours=(True, False),
        expected="holds",
        why="the true answer with probability 3/4 against 1/4 leaks exactly epsilon = ln 3",
    ),
    Demo(
        title="diffprivlib: a truncated geometric mechanism",
        mechanism=bounded_count,
        claim=None,
        neighbours=(0, 1),
        expected="holds",
        why="truncation moves all the tail to the end points, where the leak is exactly epsilon",
    ),
    Demo(
        title="OpenDP's Laplace noise around a sum that nobody clipped",
        mechanism=total_payment,
        claim=tollens.pure(1),
        neighbours=([5.0, 5.0, 20.0], [5.0, 5.0]),
        expected="broken",
        why="the noise fits payments of at most 10, but one of 20 goes into the sum: epsilon is 2",
    ),
    Demo(
        title="OpenDP 0.16: randomised response on bit vectors",
        mechanism=noisy_bits,
        claim=None,
        neighbours=(b"\x01", b"\x01\x00"),
        expected="broken",
        why="the output is as long as the input, whose length the domain does not fix",
    ),
    Demo(
        title="diffprivlib 0.6: a median of 2 984 rows",
        mechanism=private_median,
        claim=None,
        neighbours=(mostly_zeros(2983), mostly_zeros(2984)),
        expected="broken",
        why="with 2 984 rows all weights of its sampler underflow and it raises, with 2 983 never",
    ),
)


def main() -> int:
    """Audit all six with progress bars, print the table, and say whether it came out right."""
    screen = console(sys.stdout)
    bars = ProgressBars(console(sys.stderr), enabled=True)
    table = Table(title="Six mechanisms of real libraries", title_justify="left")
    table.add_column("mechanism", overflow="fold")
    table.add_column("promise", overflow="fold")
    table.add_column("outcome", no_wrap=True)
    table.add_column("pairs", justify="right")
    table.add_column("what was shown", overflow="fold")
    surprises = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the libraries warn about the inputs that are the point
        for item in DEMO:
            verdict = tollens.audit(
                item.mechanism,
                item.claim,
                neighbours=item.neighbours,
                budget=BUDGET,
                progress=lambda state, title=item.title: bars.report(title, state),
            )
            surprises += verdict.refuted != (item.expected == "broken")
            shown = (
                f"{verdict.witness.describe()}. {item.why}"
                if verdict.witness is not None
                else f"nothing against it; {verdict.power_text()}"
            )
            table.add_row(
                Text(item.title),
                Text(str(verdict.claim)),
                Text(verdict.outcome.name, STYLES[verdict.outcome]),
                f"{verdict.pairs:,}",
                Text(shown),
                end_section=True,
            )
    bars.stop()
    screen.print(table)
    screen.print(
        "REFUTED: the promise is false, with an error probability of one in a million. "
        'UNREFUTED never means "private": it says how much was tested.'
    )
    if surprises:
        screen.print(f"{surprises} of the six did not come out as expected.", style="bold red")
    return 1 if surprises else 0


if __name__ == "__main__":
    sys.exit(main())
