"""From functions to program texts: what is cut out, what is refused, and what has changed."""

from __future__ import annotations

import functools
import importlib.util
import linecache
import types

import pytest

import tollens
from tollens.checker.compiling import compile_text
from tollens.errors import UsageError
from tollens.refutation.program import Program, read_program

TEXT = '''\
"""A file with much in it."""

import math
from fractions import Fraction

import tollens
from tollens import noise
from tollens.noise import laplace as lap

SCALE = 0.10
UNUSED = [math.pi]
RATE, OTHER = 2, 3
HALF = SCALE / RATE


def helper(value, factor=2):
    return value + lap(HALF) * factor


class Unused:
    pass


@tollens.promise("epsilon=1", neighbours=(0, 1))
def release(data):
    """A comment # in a text."""
    if data > SCALE:
        return helper(data)
    return noise.laplace(Fraction(1, 3))


def unused(data):
    return open(data)


@tollens.batched
def decorated(data):
    return data
'''


def loaded(tmp_path, text, name="program_under_test"):
    path = tmp_path / f"{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module, path


@pytest.fixture
def module(tmp_path):
    return loaded(tmp_path, TEXT)[0]


class TestText:
    def test_it_is_what_the_function_needs_and_no_more(self, module):
        program = read_program(module.release)
        assert (
            program.text
            == '''\
from fractions import Fraction
from tollens import noise
from tollens.noise import laplace as lap
SCALE = 0.10
RATE, OTHER = 2, 3
HALF = SCALE / RATE


def helper(value, factor=2):
    return value + lap(HALF) * factor


def release(data):
    """A comment # in a text."""
    if data > SCALE:
        return helper(data)
    return noise.laplace(Fraction(1, 3))'''
        )
        assert (program.name, program.notes) == ("release", ())

    def test_every_line_knows_its_place(self, module):
        program = read_program(module.release)
        file = TEXT.split("\n")
        for i, line in enumerate(program.text.split("\n"), start=1):
            place = program.place(i)
            if line and not line.startswith("from"):
                assert file[int(place.rpartition(":")[2]) - 1] == line
        assert program.place(10**6) == program.file

    def test_the_checker_reads_it(self, tmp_path):
        text = TEXT.replace("RATE, OTHER = 2, 3", "RATE = 2")
        program = read_program(loaded(tmp_path, text)[0].release)
        assert compile_text(program.text, program.name).name == "release"

    def test_functions_inside_of_others_lose_their_indentation(self):
        def inner(data):
            if data:
                return tollens.noise.flip(0.25)
            return False

        program = read_program(inner)
        assert program.text.startswith("import tollens\n\n\ndef inner(data):\n    if data:\n")

    def test_constants_of_other_files_are_taken_at_their_value(self, tmp_path, monkeypatch):
        loaded(tmp_path, "SCALE = 0.5\nMANY = object()\n", "settings_of_mine")
        monkeypatch.syspath_prepend(tmp_path)
        text = "from settings_of_mine import *\ndef f(data):\n    return data + SCALE\n"
        program = read_program(loaded(tmp_path, text)[0].f)
        assert program.text.startswith("SCALE = 0.5\n")
        assert program.notes == ("SCALE was taken at its value now: SCALE = 0.5",)
        assert program.place(1) == program.file

    def test_a_cell_of_a_notebook(self):
        """The text is known to linecache only; names of other cells are taken as they are."""
        scope = {"noise": tollens.noise, "SCALE": 3, "laplace": tollens.noise.laplace}
        cell = "def f(data):\n    return data + noise.laplace(SCALE) + laplace(1)\n"
        linecache.cache["<cell>"] = (len(cell), None, cell.splitlines(True), "<cell>")
        exec(compile(cell, "<cell>", "exec"), scope)
        program = read_program(scope["f"])
        assert "import tollens.noise as noise\n" in program.text
        assert "from tollens.noise import laplace as laplace\n" in program.text
        assert "SCALE = 3\n" in program.text
        assert program.place(program.text.count("\n") + 1) == "<cell>:2"


class TestRefused:
    @pytest.mark.parametrize(
        ("function", "message"),
        [
            (len, "len is written in C and has no text"),
            (lambda data: data, "a lambda has no text"),
            (functools.partial(len), "is a partial, which has no text"),
            (3, "3 is a int, which has no text"),
            (tollens.batched(lambda d, n, rng: []), "a batched mechanism makes many outputs"),
            (int, "int is a type, which has no text"),
        ],
    )
    def test_what_is_no_function_with_a_text(self, function, message):
        with pytest.raises(UsageError, match=message):
            read_program(function)

    def test_closures_name_what_they_use(self):
        scale, shift = 2, 1

        def inner(data):
            return data + tollens.noise.laplace(scale) + shift

        with pytest.raises(UsageError, match="inner uses scale, shift of the function around it"):
            read_program(inner)

    def test_wrapped_functions(self):
        @functools.wraps(read_program)
        def wrapper(data):
            return data

        with pytest.raises(UsageError, match="wrapped by a decorator"):
            read_program(wrapper)

    def test_coroutines(self):
        async def later(data):
            return data

        with pytest.raises(UsageError, match="asynchronous"):
            read_program(later)

    def test_texts_that_are_not_kept(self):
        scope = {}
        exec("def f(data):\n    return data\n", scope)
        with pytest.raises(UsageError, match="is not kept"):
            read_program(scope["f"])

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            ("data > SCALE", "data < SCALE"),
            ("Fraction(1, 3)", "Fraction(1, 4)"),
            ("import math", "import math\n"),
            ("def release(data)", "def renamed(data)"),
        ],
    )
    def test_a_file_that_changed_after_it_was_loaded(self, tmp_path, old, new):
        module, path = loaded(tmp_path, TEXT)
        path.write_text(TEXT.replace(old, new))
        with pytest.raises(UsageError, match="has changed since"):
            read_program(module.release)

    def test_a_file_that_is_no_python_any_more(self, tmp_path):
        module, path = loaded(tmp_path, TEXT)
        path.write_text("def (")
        with pytest.raises(UsageError, match="cannot be read as Python"):
            read_program(module.release)

    def test_functions_made_by_other_programs(self):
        code = read_program.__code__.replace(co_firstlineno=3)
        with pytest.raises(UsageError, match="defines no"):
            read_program(types.FunctionType(code, read_program.__globals__))


def test_places():
    program = Program("a\nb", "f", "x.py", (7, 0))
    assert (program.place(1), program.place(2), program.place(0)) == ("x.py:7", "x.py", "x.py")
