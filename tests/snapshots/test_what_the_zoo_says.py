"""What people read of the programs of the zoo; run with --snapshot-update after a change meant."""

import io
import math

from rich.console import Console

from tollens.refutation.program import read_program
from tollens.report.program_text import program_test_table, program_text, programs_table
from tollens.zoo.program_test import ProgramRow
from tollens.zoo.programs import get


def shown(renderable):
    stream = io.StringIO()
    Console(file=stream, width=100).print(renderable)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines())


def test_a_program(snapshot):
    program = get("S2-n4")
    assert shown(program_text(program, read_program(program.function).text)) == snapshot


def test_the_list(snapshot):
    some = [get(key) for key in ("D1", "D1-bug", "S1-n4", "L2-eps1.5")]
    assert shown(programs_table(some)) == snapshot


def test_the_self_test(snapshot):
    rows = [
        ProgramRow("D1", "d1", False, "UNREFUTED", "", 0.0, math.log(3), 0.011),
        ProgramRow("L1", "l1", True, "REFUTED", "events", 2 - 1e-9, 2.0, 0.0149),
        ProgramRow("S1-n4", "s1", True, "REFUTED", "events", math.inf, math.inf, 0.2),
        ProgramRow("P1", "p1", True, "UNDECIDED", "", 0.0, 2.0, 30.0, "broken, but not refuted"),
    ]
    assert shown(program_test_table(rows)) == snapshot
