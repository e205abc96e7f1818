"""Runs a function for tollens in another interpreter: `agent.py VALUES file|module PLACE NAME`.

One file, the standard library of Python 3.6 only; tollens itself is not needed there. VALUES is the
file of `tollens.values`. The protocol is that of docs/programs.md.
"""

import difflib
import importlib
import importlib.util
import inspect
import json
import os
import platform
import random
import re
import sys
import time
import traceback
from typing import IO, Any, Callable, Dict, List, Optional

_KNOWN = 8
"""Data that are kept."""

_LONGEST, _LATEST = 2**18, 1.0
"""Characters of outputs after which a line is written, and seconds."""


_CHANGED = (
    "changes its input: after some runs the data differ from before; every run must see the same "
    "data, so let the function work on a copy"
)


class _Fault(Exception):  # noqa: N818 - it is told, not raised at anyone
    """Nothing can be run; the text says why."""


def main(words: List[str]) -> None:
    """Say hello, then answer requests until there are no more."""
    requests, answers = _own_pipes()
    values, kind, place, name = words
    codec = _load_file(values, "tollens_values")
    try:
        module = _load(kind, place)
        function = _find(module, name, place)
        style = _style(function, name)
        claim = _claim(module, function, name)
    except _Fault as fault:
        _say(answers, {"tollens": 1, "fault": str(fault)})
        return
    _fresh_seeds()
    hello = {"tollens": 1, "packages": _packages(), "seeded": style.rng != "none"}
    _say(answers, hello if claim is None else dict(hello, claim=claim))
    inputs = _Inputs(codec)
    for line in requests:
        kept = _Kept(answers, codec)
        _answer(kept, function, style, *inputs.read(line))
        if inputs.changed():
            _say(answers, {"fault": _CHANGED})
        kept.write()


def _own_pipes() -> Any:
    """Stdin and stdout for us alone: what the function prints goes to stderr."""
    requests = os.fdopen(os.dup(0), "r", encoding="utf-8")
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return requests, answers


def _say(answers: IO[str], what: object) -> None:
    answers.write(json.dumps(what) + "\n")
    answers.flush()


# Loading


def _load(kind: str, place: str) -> Any:
    ours = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder) != ours]
    sys.path.insert(0, os.path.dirname(place) if kind == "file" else os.getcwd())
    try:
        if kind == "file":
            stem = os.path.splitext(os.path.basename(place))[0]
            return _load_file(place, "tollens_target_" + stem)
        return importlib.import_module(place)
    except BaseException as error:
        raise _Fault(
            "{} cannot be imported by Python {}: {}{}".format(
                place, platform.python_version(), _last_line(error), _where(error, place)
            )
        )


def _load_file(path: str, name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError("it is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _last_line(error: BaseException) -> str:
    return "".join(traceback.format_exception_only(type(error), error)).strip().split("\n")[-1]


def _where(error: BaseException, place: str) -> str:
    if isinstance(error, SyntaxError):
        return " (line {} of {})".format(error.lineno, error.filename)
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == place]
    return " (line {})".format(lines[-1]) if lines else ""


def _find(module: Any, name: str, place: str) -> Any:
    found = module
    for part in name.split("."):
        if not hasattr(found, part):
            public = [known for known in dir(found) if not known.startswith("_")]
            near = difflib.get_close_matches(part, public, n=1)
            hint = "; did you mean {!r}?".format(near[0]) if near else ""
            raise _Fault("{} has no {!r}{}".format(place, name, hint))
        found = getattr(found, part)
    return found


def _claim(module: Any, function: Any, name: str) -> Optional[str]:
    """What the function promises, as a text, if it says so."""
    claim = getattr(function, "__tollens_claim__", None)
    if claim is None:
        claims = getattr(module, "CLAIMS", {})
        claim = claims.get(name) if isinstance(claims, dict) else None
    if claim is not None and not isinstance(claim, str):
        raise _Fault("the claim of {} is {!r}; write a text: 'epsilon=1'".format(name, claim))
    return claim


class _Style(object):
    """How a function is called: with n for a batch, and with a generator by position or name."""

    def __init__(self, batched: bool, rng: str) -> None:
        self.batched, self.rng = batched, rng

    def call(self, function: Callable[..., Any], data: Any, n: int, rng: Any) -> Any:
        """What the function returns, for one run or for a batch of n."""
        arguments = (data, n) if self.batched else (data,)  # type: Any
        if self.rng == "keyword":
            return function(*arguments, rng=rng)
        return function(*arguments, rng) if self.rng == "position" else function(*arguments)


def _style(function: Any, name: str) -> _Style:
    """How to call it, by its parameters; as `tollens.mechanism` does, and n for a batch."""
    if not callable(function):
        raise _Fault("{} is a {}, no function of the data".format(name, type(function).__name__))
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return _Style(False, "none")
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if not positional and not any(p.kind is p.VAR_POSITIONAL for p in parameters):
        raise _Fault("{} takes no argument; it must be a function of (data[, rng])".format(name))
    batched = len(positional) >= 2 and positional[1].name == "n"
    first = 2 if batched else 1
    required = [p for p in positional if p.default is p.empty]
    if len(required) > first + 1:
        raise _Fault(
            "{} needs the arguments {}; it must be a function of (data), (data, rng) or "
            "(data, n, rng)".format(name, ", ".join(p.name for p in required))
        )
    if len(positional) > first and (positional[first].name == "rng" or len(required) > first):
        return _Style(batched, "position")
    if any(p.name == "rng" and p.kind is not p.VAR_KEYWORD for p in parameters):
        return _Style(batched, "keyword")
    return _Style(batched, "none")


def _fresh_seeds() -> None:
    """Seed the global generators anew: the file may have seeded them, in every process alike."""
    random.seed()
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()


# Versions


def _packages() -> Dict[str, str]:
    """The versions of Python and of the distributions whose modules are loaded."""
    found = {"python": platform.python_version()}
    loaded = {name.partition(".")[0] for name in list(sys.modules)}
    for folder in sys.path:
        if not os.path.isdir(folder):
            continue
        for entry in os.listdir(folder):
            match = re.match(r"(.+?)-([^-]+)(-.*)?\.(dist|egg)-info$", entry)
            if match:
                modules = _top_level(os.path.join(folder, entry)) or [match.group(1)]
                if loaded.intersection(modules):
                    found.setdefault(match.group(1).replace("_", "-").lower(), match.group(2))
    return found


def _top_level(info: str) -> List[str]:
    """The modules of a distribution, where it names them."""
    try:
        with open(os.path.join(info, "top_level.txt"), encoding="utf-8") as file:
            return file.read().split()
    except (OSError, UnicodeDecodeError):
        return []


# Runs


class _Inputs(object):
    """Reads requests. Data that come again are not read again, but looked at now and then."""

    def __init__(self, codec: Any) -> None:
        self._codec = codec
        self._known = {}  # type: Dict[str, _Input]
        self._last = None  # type: Any

    def read(self, line: str) -> Any:
        """The data, n and seed of a request."""
        end = line.rindex(', "n": ')  # tollens writes n and the seed last
        text, others = line[:end], json.loads("{" + line[end + 2 :])
        if text not in self._known:
            data = self._codec.from_json(json.loads(text + "}")["data"])
            if len(self._known) >= _KNOWN:
                self._known.clear()
            self._known[text] = _Input(data, self._codec)
        self._last = self._known[text]
        return self._last.data, others["n"], others["seed"]

    def changed(self) -> bool:
        """Whether the data of the last request are no longer what they were."""
        return bool(self._last.changed(self._codec))


class _Input(object):
    """Data that are looked at after the 1st, 2nd, 4th, 8th, ... request on them."""

    def __init__(self, data: Any, codec: Any) -> None:
        self.data = data
        self._before = codec.to_json(data)
        self._requests, self._next = 0, 1

    def changed(self, codec: Any) -> bool:
        """Count a request, and look where it is time to."""
        self._requests += 1
        if self._requests < self._next:
            return False
        self._next *= 2
        try:
            return bool(json.dumps(codec.to_json(self.data)) != json.dumps(self._before))
        except ValueError:
            return True


def _generator(seed: int) -> Any:
    """A numpy Generator where numpy has them, else Python's own."""
    try:
        import numpy

        return numpy.random.default_rng(seed)
    except (ImportError, AttributeError):
        return random.Random(seed)


def _answer(
    kept: "_Kept", function: Callable[..., Any], style: _Style, data: Any, n: int, seed: int
) -> None:
    """Make n runs; what is kept at the end is still to be written."""
    rng = None if style.rng == "none" else _generator(seed)
    if style.batched:
        for output in _batch(kept, function, style, data, n, rng):
            kept.add(output)
        return
    for _ in range(n):
        try:
            output = style.call(function, data, n, rng)
            if inspect.isgenerator(output):
                output = tuple(output)
        except BaseException as error:  # whatever a run raises is its output
            kept.say({"error": _error(error)})
        else:
            kept.add(output)


def _batch(
    kept: "_Kept", function: Callable[..., Any], style: _Style, data: Any, n: int, rng: Any
) -> Any:
    """The outputs of a batch; where there are none, that is told."""
    try:
        outputs = style.call(function, data, n, rng)
    except BaseException as error:
        kept.say({"failed": _error(error)})
        return []
    if hasattr(outputs, "__len__") and len(outputs) == n:
        return outputs
    got = len(outputs) if hasattr(outputs, "__len__") else "a " + type(outputs).__name__
    kept.say({"fault": "asked for n={} outputs, got {}".format(n, got)})
    return []


def _error(error: BaseException) -> Dict[str, str]:
    try:
        message = str(error)[:300]
    except Exception:
        message = ""
    return {"type": type(error).__name__, "message": message}


class _Kept(object):
    """Outputs that wait for their line."""

    def __init__(self, answers: IO[str], codec: Any) -> None:
        self._answers, self._codec = answers, codec
        self._texts = []  # type: List[str]
        self._length = 0
        self._written = time.time()

    def add(self, output: object) -> None:
        """Keep an output, and write a line where there is enough for one."""
        try:
            text = json.dumps(self._codec.to_json(output))
        except ValueError as error:
            self.say({"fault": "an output cannot be looked at: {}".format(error)})
            sys.exit(1)
        self._texts.append(text)
        self._length += len(text)
        if self._length > _LONGEST or time.time() > self._written + _LATEST:
            self.write()

    def say(self, what: object) -> None:
        """Write something else, after what is kept."""
        self.write()
        _say(self._answers, what)

    def write(self) -> None:
        """Write what is kept."""
        if self._texts:
            self._answers.write('{"outputs": [' + ",".join(self._texts) + "]}\n")
            self._answers.flush()
        self._texts, self._length, self._written = [], 0, time.time()


if __name__ == "__main__":
    main(sys.argv[1:])
