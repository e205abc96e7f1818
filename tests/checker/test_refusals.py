"""What is outside the subset is refused by its line, with advice; nothing else happens."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tollens.checker.compiling import compile_text
from tollens.checker.errors import Refused
from tollens.checker.machine import explore

HEAD = "from tollens import noise\n"

STATEMENTS = {
    "raise ValueError": "raise; return a value that says so",
    "assert x": "assert; return a value that says so",
    "import random": "an import inside a function; import tollens.noise at the top of the file",
    "from random import random": "an import inside a function; import",
    "global y": "global; pass the value and return it",
    "del x": "del; build another list",
    "a, *b = x": "this target of an assignment; assign to names and items",
    "x.y = 1": "this target of an assignment; assign to names and items",
    "x[1:2] = [1]": "this target of an assignment; assign to names and items",
    "x.y += 1": "this target of an assignment; assign to a name or an item",
    "x[:] += [1]": "this target of an assignment; assign to a name or an item",
    "return lambda: 1": "a lambda; write a function at the top of the file",
    "return {a: 1 for a in x}": "a dictionary comprehension; write a dictionary with constant keys",
    "return {a for a in x}": "a set; use a list",
    "return {1, 2}": "a set; use a list",
    "return f'{x}'": "a formatted text; return the values themselves",
    "return (y := 1)": ":=; assign in a line of its own",
    "return x.y": "an attribute; use numbers, lists, tuples and dictionaries",
    "y = yield 1": "the value of yield; write yield in a line of its own",
    "yield from x": "yield from; write a loop that yields",
    "return x[::2]": "a slice with a step; write a loop",
    "return [*x]": "*; write the items",
    "return {**x}": "** in a dictionary; write its keys",
    "return {x: 1}": "this constant; write a number, a text, True, False or None",
    "return {1 + 1: 1}": "this constant; write a number, a text, True, False or None",
    "return x | 1": "an operator on bits or matrices; use + - * / // % **",
    "return x & 1": "an operator on bits or matrices; use + - * / // % **",
    "return x @ x": "an operator on bits or matrices; use + - * / // % **",
    "return ~x": "an operator on bits; use + - * / // % **",
    "return x << 1": "an operator on bits or matrices; use + - * / // % **",
    "return 1j": "this constant; write a number, a text, True, False or None",
    "return b'a'": "this constant; write a number, a text, True, False or None",
    "return ...": "this constant; write a number, a text, True, False or None",
    "return y": "the name y; use arguments, constants of this file and calls",
    "return len": "the name len; use arguments, constants of this file and calls",
    "return print(x)": "a call of print; return what matters",
    "return math.exp(x)": "a call of math.exp; write the value as a decimal",
    "return sorted(x)": "a call of sorted; take max or min in a loop",
    "return np.random.laplace()": "a call of np.random.laplace; draw from tollens.noise",
    "return rng.normal()": "a call of rng.normal; draw from tollens.noise",
    "return x.pop()": "a call of x.pop; call functions of this file",
    "return x.append(1, 2)": "a call of x.append; call functions of this file",
    "return open('a')": "a call of open; call functions of this file",
    "return eval('1')": "a call of eval; call functions of this file",
    "return __import__('os')": "a call of __import__; call functions of this file",
    "return max(x, default=1)": "a call of max; call functions of this file",
    "return round(x, ndigits=1)": "a call of round; call functions of this file",
    "return abs()": "abs with these arguments",
    "return sum(1, 2, 3)": "sum with these arguments",
    "return f(x)": "f calls itself; write a loop",
    "return [a for a in x for b in x]": "a comprehension with several for; write loops",
    "y = (a for a in x)": "a generator that is kept; write a list: [ in place of (",
    "y = zip(x, x)": "zip outside of a loop; write list(zip(...))",
    "return range(3)": "range outside of a loop; write list(range(...))",
    "return enumerate(x, start=1)": "enumerate outside of a loop; write list(enumerate(...))",
    "return noise.laplace(1)": "a call of noise.laplace; call functions of this file",
    "return 1e999": "this number; write a decimal or a quotient of whole numbers",
    "return 1e-5000": "this number; write a decimal or a quotient of whole numbers",
}

TEXTS = {
    "async def g(x):\n    return 1\ndef f(x):\n    return g(x)": [
        "line 1: asyncfunctiondef at the top of the file; define functions, constants",
        "line 4: a call of g, which is not one fixed function",
    ],
    "def f(x):\n    class A:\n        pass": ["line 2: a class; use lists and tuples"],
    "def f(x):\n    def g():\n        pass\n    return 1": [
        "line 2: a function inside a function; move it to the top of the file"
    ],
    "def f(x):\n    try:\n        return 1\n    except ValueError:\n        return 2": [
        "line 2: try; test the condition with if"
    ],
    "def f(x):\n    with x as y:\n        return y": [
        "line 2: with; call the primitives of tollens.noise only"
    ],
    "def f(x):\n    match x:\n        case 1:\n            return 1": [
        "line 2: match; write if and elif"
    ],
    "def f(x):\n    for i in x:\n        pass\n    else:\n        return 1": [
        "line 2: else of a loop; write a flag"
    ],
    "def f(x):\n    while x:\n        pass\n    else:\n        return 1": [
        "line 2: else of a loop; write a flag"
    ],
    "def f(x):\n    yield 1\n    return 2": ["line 3: return with a value beside yield; yield it"],
    "def f(x):\n    return max(*x)": [
        "line 2: *; write the items",
        "line 2: a call with * or **; write the arguments",
    ],
    "def f(x):\n    return g(x, y=1)\ndef g(x):\n    return x": [
        "line 2: a call of g with these arguments; it takes ('x',)"
    ],
    "def f(x):\n    return g()\ndef g(x):\n    return x": [
        "line 2: a call of g with these arguments; it takes ('x',)"
    ],
    "def f(x):\n    return g(1, x=2)\ndef g(x):\n    return x": [
        "line 2: a call of g with these arguments; it takes ('x',)"
    ],
    "def f(x):\n    return g(**x)\ndef g(x):\n    return x": [
        "line 2: a call of g with these arguments; it takes ('x',)",
        "line 2: a call with * or **; write the arguments",
    ],
    "def f(x):\n    return g(x)\ndef g(x):\n    return h(x)\ndef h(x):\n    return g(x)": [
        "line 3: g calls itself; write a loop"
    ],
    "def f(x):\n    return g(x)\ndef g(x):\n    yield x": [
        "line 3: a generator that is called; append to a list and return it"
    ],
    "def f(x, y):\n    return x": [
        "line 1: f takes several arguments; a mechanism takes one, its data"
    ],
    "def f():\n    return 1": ["line 1: f takes no argument; a mechanism takes one, its data"],
    "def f(*x):\n    return x": [
        "line 1: f takes no argument; a mechanism takes one, its data",
        "line 1: special parameters; write plain parameters",
        "line 2: the name x; use arguments, constants of this file and calls",
    ],
    "def f(x, *, y=1):\n    return x": ["line 1: special parameters; write plain parameters"],
    "def f(x, /):\n    return x": [
        "line 1: f takes no argument; a mechanism takes one, its data",
        "line 1: special parameters; write plain parameters",
        "line 2: the name x; use arguments, constants of this file and calls",
    ],
    "def f(x, y=[]):\n    return x": [
        "line 1: this constant; write a number, a text, True, False or None"
    ],
    "def f(x, y=1 + 1):\n    return x": [
        "line 1: this constant; write a number, a text, True, False or None"
    ],
    "@cache\ndef f(x):\n    return x": [
        "line 1: a decorator; only @tollens.promise has a meaning here"
    ],
    "def f(x):\n    return g(x)\n@cache\ndef g(x):\n    return x": [
        "line 3: a decorator; only @tollens.promise has a meaning here"
    ],
    "def f(x):\n    g = len\n    return g(x)": [
        "line 2: the name len; use arguments, constants of this file and calls",
        "line 3: a call of g, which is not one fixed function",
    ],
    "from tollens import noise\ndef f(x):\n    return noise.cauchy(1)": [
        "line 3: a call of noise.cauchy; call functions of this file, primitives of "
        "tollens.noise, and the functions of the subset"
    ],
    "from tollens import noise\ndef f(x):\n    return noise.laplace()": [
        "line 3: a call of laplace with these arguments; it takes ('scale',)"
    ],
    "from tollens import noise\ndef f(x):\n    return noise.laplace(1, 2)": [
        "line 3: a call of laplace with these arguments; it takes ('scale',)"
    ],
    "from tollens import noise\ndef f(x):\n    return noise.laplace(sigma=1)": [
        "line 3: a call of laplace with these arguments; it takes ('scale',)"
    ],
    "from tollens import noise\ndef f(x):\n    return noise": [
        "line 3: the name noise; use arguments, constants of this file and calls"
    ],
}

FAULTS = {
    "return 1 / (x - x)": "a division by 0",
    "return x // 0": "a division by 0",
    "return x % 0": "a division by 0",
    "return 0 ** -x": "a division by 0",
    "return x ** 0.5": "a number to the power 1/2, which is not rational in general",
    "return (10 ** 400) ** 400": "a power that is too large",
    "return x + None": "arithmetic with the NoneType 'None'",
    "return x + 'a'": "arithmetic with the str 'a'",
    "return x < 'a'": "arithmetic with the str 'a'",
    "return [1] < [2]": "arithmetic with a list or dictionary",
    "return [1] + (1,)": "+ of a list and a tuple",
    "return x.append(1)": "append to the Fraction '2'",
    "return x[0]": "an item of the Fraction '2', which is no list or tuple",
    "return [1, 2][x]": "the index 2 of 2 items: the program would raise",
    "return [1, 2][-3]": "the index -3 of 2 items: the program would raise",
    "return [1, 2][1 / 2]": "an index is 1/2, not a whole number",
    "return [1][noise.laplace(1)]": "an index depends on a continuous draw",
    "return {1: 2}[x]": "a dictionary has no key 2: the program would raise",
    "return w\n    w = 1": "w has no value yet",
    "a, b = (1, 2, 3)": "3 values for 2 names",
    "a, b = x": "names for the items of the Fraction '2', which is no list or tuple",
    "return [a for a in x]": "a loop over the Fraction '2', which is no list or tuple",
    "return x is 2": "is: only None has an identity here",
    "t = (1, 2)\n    t[0] = 3": "an assignment to an item of a tuple",
    "return 1 if noise.laplace(1) else 2": "a draw as a condition: compare it with a number",
    "return not noise.laplace(1)": "a draw as a condition: compare it with a number",
    "return noise.laplace(1) * noise.laplace(1)": "a product of two draws",
    "return 1 / noise.laplace(1)": "the right side of / depends on a continuous draw",
    "return noise.laplace(1) // 1": "the left side of // depends on a continuous draw",
    "return noise.laplace(1) % 1": "the left side of % depends on a continuous draw",
    "return noise.laplace(1) ** 2": "the base of ** depends on a continuous draw",
    "return round(noise.laplace(1))": "the argument of round depends on a continuous draw",
    "return int(noise.laplace(1))": "the argument of int depends on a continuous draw",
    "return list(range(noise.laplace(1)))": "a bound of range depends on a continuous draw",
    "return noise.laplace(noise.laplace(1))": "the parameter of laplace depends on a continuous",
    "return noise.flip(noise.uniform(0, 1))": "the parameter of flip depends on a continuous draw",
    "return noise.laplace(0)": "laplace(0): the scale must be positive",
    "return noise.gauss(-1)": "gauss(-1): the scale must be positive",
    "return noise.uniform(1, 1)": "uniform(1, 1): a must be less than b",
    "return noise.flip(3 / x)": "flip(3/2): a probability is at least 0 and at most 1",
    "return noise.geometric(0)": "geometric(0): a probability is above 0 and at most 1",
    "return noise.geometric(x)": "geometric(2): a probability is above 0 and at most 1",
    "return noise.discrete({1: 0.5})": "the probabilities of discrete must be at least 0 and sum",
    "return noise.discrete({1: 2, 2: -1})": "the probabilities of discrete must be at least 0",
    "return noise.discrete([1])": "discrete takes a dictionary of value: probability",
    "return max([])": "the index 0 of 0 items: the program would raise",
    "return sum(x)": "a loop over the Fraction '2', which is no list or tuple",
    "return len(x)": "the length of the Fraction '2'",
    "return int('1')": "arithmetic with the str '1'",
    "return float('inf')": "arithmetic with the str 'inf'",
    "return list(range(10 ** 5))": "a range of more than 10000 numbers",
    "return [0] * 10 ** 5": "a list that is repeated so often",
}


@pytest.mark.parametrize("blank", [0, 7])
@pytest.mark.parametrize("statement", STATEMENTS)
def test_statements(statement, blank):
    text = f"def f(x):{chr(10) * (blank + 1)}    {statement}\n"
    with pytest.raises(Refused) as refused:
        compile_text(text, "f")
    (found,) = refused.value.findings
    assert found.line in (2 + blank, 1 if "calls itself" in STATEMENTS[statement] else 2 + blank)
    assert str(found).partition(": ")[2].startswith(STATEMENTS[statement])
    assert found.instead or "arguments" in found.what


@pytest.mark.parametrize("text", TEXTS)
def test_texts(text):
    with pytest.raises(Refused) as refused:
        compile_text(text, "f")
    assert [str(each) for each in refused.value.findings] == TEXTS[text]
    assert str(refused.value) == "\n".join(TEXTS[text])


@pytest.mark.parametrize("statement", FAULTS)
def test_faults_are_refused_where_they_happen(statement):
    text = HEAD + f"def g(x):\n    y = x\n    {statement}\n\ndef f(x):\n    return g(x)\n"
    with pytest.raises(Refused) as refused:
        explore(compile_text(text, "f"), Fraction(2))
    (found,) = refused.value.findings
    assert found.line == 4 + statement.count("\n") - ("return w" in statement)
    assert found.what.startswith(FAULTS[statement])


def test_all_refusals_come_at_once_in_order():
    text = "def f(x):\n    del x\n    y = {1}\n    return g(y)\n\n\ndef g(x):\n    raise x\n"
    with pytest.raises(Refused) as refused:
        compile_text(text, "f")
    assert [found.line for found in refused.value.findings] == [2, 3, 8]


def test_functions_that_are_not_called_may_be_anything():
    text = "def g(x):\n    raise x\n\ndef f(x):\n    return x\n"
    assert explore(compile_text(text, "f"), Fraction(2)).paths[0].output == 2
