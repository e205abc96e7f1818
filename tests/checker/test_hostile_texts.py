"""Texts that Python runs otherwise than they look: refused, or read as Python reads them."""

import subprocess
import sys
from fractions import Fraction

import pytest

from tollens.checker.compiling import compile_text
from tollens.checker.errors import Refused
from tollens.checker.machine import explore

NOISE = "from tollens import noise\n"
DRAWS = "def f(x): return noise.flip(1/2)\n"
HELPED = "def h(x): return x\n"
CALLS = "def f(x): return h(x)\n"
OTHER = "def g():\n    global h\n    h = lambda x: 5\n"

REFUSED = {
    # names of the file that are bound again
    "a star": "def h(x): return x\nfrom os.path import *\n" + CALLS,
    "a class": NOISE + "class noise:\n    pass\n" + DRAWS,
    "a class for the program": "def f(x): return x\nclass f:\n    pass\n",
    "the program is bound again": "def f(x): return x\nf = 3\n",
    "an import under try": NOISE
    + "try:\n    import os as noise\nexcept ImportError:\n    pass\n"
    + DRAWS,
    "a relative import": NOISE + "from . import noise\n" + DRAWS,
    "an import of another module": NOISE + "import os as noise\n" + DRAWS,
    "a constant": NOISE + "noise = 3\n" + DRAWS,
    "a constant for a function": "from tollens.noise import flip\nflip = 3\n"
    "def f(x): return flip(1/2)\n",
    "a function over an import": "from tollens.noise import flip\ndef flip(p): return 9\n"
    "def f(x): return flip(1/2)\n",
    "a definition under if": HELPED + "if True:\n    def h(x): return 7\n" + CALLS,
    "a pattern": NOISE + "match 5:\n    case noise: pass\n" + DRAWS,
    "a target of for": NOISE + "for noise in (1, 2): pass\n" + DRAWS,
    "a target of with": NOISE + "with open('x') as noise: pass\n" + DRAWS,
    "del": NOISE + "del noise\n" + DRAWS,
    "a walrus": HELPED + "N = (h := 5)\n" + CALLS,
    "an augmented assignment": NOISE + "noise += 1\n" + DRAWS,
    "asynchronous": "def f(x): return x\nasync def f(x): return 1\n",
    # names of functions that hide others
    "a parameter": "from tollens.noise import flip\ndef f(flip): return flip(1/2)\n",
    "a variable": NOISE + "def f(x):\n    noise = x\n    return noise.flip(1/2)\n",
    "a target of a comprehension": NOISE + "def f(x): return [noise.flip(1/2) for noise in x]\n",
    "a parameter for a module": "import fractions\n"
    "def f(fractions): return fractions.Fraction(1, 2)\n",
    "a constant like a function of Python": "len = 3\ndef f(x): return len([1])\n",
    "an import like one": "from statistics import mean as max\ndef f(x): return max([x, 3])\n",
    "a class like one": "class max:\n    pass\ndef f(x): return max([x, 3])\n",
    "a variable like one": "def f(x):\n    len = 3\n    return len([1])\n",
    # what runs when the file is loaded
    "a call": OTHER + HELPED + "g()\n" + CALLS,
    "exec": HELPED + "exec('h = lambda x: 5')\n" + CALLS,
    "an attribute": NOISE + "noise.flip = 3\n" + DRAWS,
    "an item": NOISE + "noise.__dict__['flip'] = 3\n" + DRAWS,
    "a constant without use": OTHER + HELPED + "U = g()\n" + CALLS,
    "an annotation": "def f(x: exec('h = 3')): return x\n",
    "an annotation of what is returned": "def f(x) -> exec('h = 3'): return x\n",
    "an annotation of a constant": "N: exec('h = 3') = 1\ndef f(x): return N\n",
    "an annotation that binds": HELPED + "def f(x: (h := 5)): return h(x)\n",
    "a default without use": HELPED + "def u(x=(h := 5)): return x\n" + CALLS,
    "a default of a keyword": HELPED + "def u(*, x=(h := 5)): return x\n" + CALLS,
    "a decorator without use": HELPED + "@exec\ndef u(x): return h(x)\n" + CALLS,
    "an argument of a promise": "import tollens\n"
    + HELPED
    + "@tollens.promise(neighbours=((h := 5), 1))\n"
    + CALLS,
    "a promise that is another": "from tollens import promise\ndef promise(f): return 3\n"
    "@promise('epsilon=1')\ndef f(x): return x\n",
    "names that Python reads": "__builtins__ = {}\ndef f(x): return len((1, 2))\n",
    # constants
    "a constant made of itself": "A = A + 1\ndef f(x): return A\n",
    "a constant made of later ones": "A = B\nB = 1\ndef f(x): return A\n",
    "one of a pair made of the other": "A, B = B, 1\ndef f(x): return A\n",
    "a constant that is changed": "A = [0]\ndef f(x):\n    A.append(x)\n    return A\n",
    "a constant that is changed by another name": "A = [0]\ndef f(x):\n    a = A\n    a[0] = 1\n",
    # forms with another meaning
    "a default that is no number": "def g(x, b=-True): return b\ndef f(x): return g(x)\n",
    "an unpacked dictionary": "def f(x):\n    a = {1: 2}\n    return len({**a})\n",
    "a target that is evaluated": "def f(x):\n    l = [5]\n    l[l.append(1)]: int\n    return l\n",
    "a generator that is kept": "def f(x):\n    g = (i for i in (1, 2))\n    return sum(g)\n",
    "a generator as an argument": "def g(i): return 1\ndef f(x): return g(i for i in (1, 2))\n",
    "zip that is kept": "def f(x): return 1 if zip((), ()) else 0\n",
    "enumerate that is kept": "def f(x):\n    e = enumerate([1])\n    return len(e)\n",
    "range that is compared": "def f(x): return range(2) == (0, 1)\n",
    "range that is joined": "def f(x): return () + range(2)\n",
    "keywords of Fraction": "from fractions import Fraction\n"
    "def f(x): return Fraction(1, denominator=2)\n",
    "keywords of any": "def f(x): return any((i for i in (1,)), key=2)\n",
    "a sum of texts": "def f(x): return sum(('a',), 'b')\n",
    "no parameter": "def f(): return 1\n",
    "twice the same parameter": "def g(a, a): return a\ndef f(x): return x\n",
    "return at the top": "def f(x): return x\nreturn 3\n",
    "infinity": "def f(x): return 1e400\n",
    "nothing": "def f(x): return 1e-399\n",
    # what screens do not show as it is
    **{
        f"an end of a line that is none, {end!r}": f"S = 2  # twice{end}S = 3\ndef f(x): return S\n"
        for end in "\v\f\x1c\x1d\x1e\x85\u2028\u2029"
    },
    "hidden by the terminal": "def f(x):\n    # \x1b[8m\n    return 7  # \x1b[0m\n",
    "erased by the terminal": "def f(x):\n    x = 5  # \b\b\b\b\b\n    return x\n",
    "right to left": "def f(x):\n    return 'x\u202e  # end'\n",
    "another encoding": "# coding: utf-7\ndef f(x): return 1\n",
    "another encoding in the second line": "#\v\f\x1c\n# coding: utf-7\ndef f(x): return 1\n",
    # what raises
    "a range in steps of 0": "def f(x): return list(range(1, 2, 0))\n",
    "a very long range": "def f(x): return len(range(10**30))\n",
    "very many items": "def f(x): return () * 10**30\n",
    "a method of a long number": "def f(x):\n    y = 10**5000\n    y.append(1)\n",
    "a long index": "def f(x): return (1,)[10**5000]\n",
    "a long quotient as an index": "def f(x):\n    y = 10**5000 + 1/2\n    return (1,)[y]\n",
    "a long probability": NOISE + "def f(x): return noise.flip(10**5000)\n",
    "a long exponent": "def f(x): return 2 ** (10**5000 + 1/2)\n",
    "a tuple with long numbers": "def f(x):\n    y = (10**5000,)\n    return y + 1\n",
    "a tuple of tuples in a message": "def f(x):\n    y = (10**5000,)\n    y.append(1)\n",
}


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_refused(text):
    with pytest.raises(Refused):
        explore(compile_text(text, "f"), Fraction(1))


# deterministic texts whose meaning is easily missed: Python says what they return
SAME = {
    "order of arguments": "def add(l):\n    l.append(1)\n    return len(l)\n"
    "def g(a, b): return (a, b)\n"
    "def f(x):\n    l = []\n    return g(b=add(l), a=len(l))\n",
    "defaults for all": "def f(x=5, y=2): return y\n",
    "lists of the file": "A = [1, 2]\nB = A\n"
    "def f(x): return (A == [1, 2], A is None, B, A + [3])\n",
    "dictionaries of the file": "D = {0: 5, 1: 6}\ndef f(x): return D[1]\n",
    "a list doubled in place": "def f(x):\n    l = [1]\n    a = l\n    a *= 2\n    return l\n",
    "signs make numbers": "def f(x): return (+(x == 1), abs(x == 1), -(x == 1), x == 1)\n",
    "a list that grows under enumerate": "def f(x):\n    l = [1]\n    for i, v in enumerate(l):\n"
    "        if i < 3:\n            l.append(v)\n    return l\n",
    "a list that grows under zip": "def f(x):\n    l = [1]\n    n = 0\n    for a, b in zip(l, l):\n"
    "        n += a * b\n        if n < 9:\n            l.append(n)\n    return n\n",
    "iterators in lists": "def g(l):\n    l.append(1)\n    return l\n"
    "def f(x):\n    l = [0]\n    return list(zip(enumerate(l), g(l)))\n",
    "lists that are yielded": "def f(x):\n    l = [0]\n    yield l\n    l[0] = 1\n    yield l\n",
    "names in another script": "\uff4e = 3\ndef f(x):\n    \ufb01 = n\n    return fi\n",
    "literals": "def f(x): return (0x10, 0b11, 0o17, 1_000, 1_0.5, .5, 5., 1E2, -0.0)\n",
    "odd ends of lines": "C = 'ä\u00a0'; D = 12.5\r\fE = 2.5\r\ndef f(x): return D + E\n",
    "a chain with effects": "def g(l):\n    l.append(1)\n    return len(l)\n"
    "def f(x):\n    l = []\n    return (g(l) < g(l) < g(l) < 2 < g(l), len(l))\n",
    "an index that is used twice": "def g(l):\n    l.append(1)\n    return 0\n"
    "def f(x):\n    l = [5]\n    l[g(l)] += len(l)\n    return l\n",
    "keys that are equal": "def f(x):\n    d = {1: 2, True: 3, 'a': 4}\n    d[1.0] = 6\n"
    "    return d\n",
}


@pytest.mark.parametrize("text", SAME.values(), ids=SAME)
def test_same(text):
    space = {}
    exec(compile(text, "<text>", "exec", dont_inherit=True), space)
    wanted = space["f"](1)
    (path,) = explore(compile_text(text, "f"), Fraction(1)).paths
    if not isinstance(wanted, int | float | list | tuple | dict):
        wanted = tuple(wanted)
    assert path.finished
    assert _exact(path.output) == _exact(wanted)


def _exact(value):
    if isinstance(value, dict):
        value = tuple(value.items())
    if isinstance(value, list | tuple):
        return tuple(map(_exact, value))
    return (type(value) is bool, Fraction(value) if isinstance(value, int | float) else value)


def test_nothing_of_a_text_is_executed():
    made = "import os\nos.exit = 3\ndef f(x): return __import__('os').system('false')\n"
    code = (
        "import sys, tollens.checker as c\n"
        "sys.addaudithook(lambda name, _: name in ('exec', 'os.system') and sys.exit(9))\n"
        "from tollens.checker.compiling import compile_text\n"
        f"try:\n    compile_text({made!r}, 'f')\nexcept c.Refused:\n    print('refused')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "refused\n")
