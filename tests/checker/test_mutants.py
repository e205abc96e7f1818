"""Every number of a certificate matters: a mutant is rejected, or true of what it says itself.

Digests are made anew for each mutant. What is accepted is compared with runs of CPython for
discrete programs, and with other integrals of a fresh exploration. Of certificates that take long
to check, one mutant of a few is tried: which ones does not depend on the machine's speed.
"""

from __future__ import annotations

import copy
import hashlib
import io
import json
import re
import time
import tokenize
from fractions import Fraction

import pytest

from tollens.checker import CertificateError, verify
from tollens.checker.compiling import compile_text
from tollens.checker.documents import value
from tollens.checker.errors import Refused
from tollens.checker.machine import Limits, explore
from tollens.checker.moments import numbers
from tollens.checker.patterns import matched, read_event
from tollens.exact import exact_claim
from tollens.refutation.engine import search
from tollens.refutation.inputs import exact_relation
from tollens.refutation.program import read_program
from tollens.relations import as_relation
from tollens.zoo.programs import entries

F = Fraction
BROKEN = {entry.id: entry for entry in entries() if entry.broken}
LONG = {"D8-bug-high", "S2-n10", "S7-bug-n6", "S7-bug-n8", "L8", "S4-n10", "S3-n10", "D7-bug-n5"}
EVERY = {"S2-n8": 4, "G1-n8": 8, "D7-redraw-n2": 12, "D8-bug": 24}
_NUMBER = re.compile(r"(ln )?-?\d+(/\d+)?")


def certificate(entry, engine):
    pairs = exact_relation(as_relation(tuple(entry.pair)))
    source = read_program(entry.function)
    found = search(source, exact_claim(entry.claim), pairs, engine, time.monotonic() + 30)
    return found.certificate


def related(made):
    """The same certificate with a relation that has a number, where one holds."""
    x = value(made["x"], "x")
    relation = {"kind": "numbers", "whole": made["relation"]["whole"], "by": "1"}
    if isinstance(x, list):
        relation |= {"kind": "queries", "change": "all"}
    try:
        verify(made | {"relation": relation})
    except CertificateError:
        return made
    return made | {"relation": relation}


def places(data, path=()):
    """Where numbers stand: (path, the number as a text)."""
    if isinstance(data, dict):
        for key, inner in data.items():
            if key not in ("program", "schema", "engine"):
                yield from places(inner, (*path, key))
    elif isinstance(data, list):
        for i, inner in enumerate(data):
            yield from places(inner, (*path, i))
    elif (isinstance(data, str) and _NUMBER.fullmatch(data)) or type(data) is int:
        yield path, data


def changed(number):
    """Other whole numbers, near and far."""
    n = int(number)
    return dict.fromkeys(str(m) for m in (n + 1, n - 1, 2 * n + 3, n // 2) if 0 <= m != n)


def mutants(made):
    for path, data in places(made):
        for part in re.finditer(r"\d+", str(data)):
            for other in changed(part.group()):
                text = str(data)[: part.start()] + other + str(data)[part.end() :]
                mutant = copy.deepcopy(made)
                inner = mutant
                for step in path[:-1]:
                    inner = inner[step]
                inner[path[-1]] = text if isinstance(data, str) else int(text)
                yield path, mutant
        if isinstance(data, str) and not data.startswith("ln"):
            mutant = copy.deepcopy(made)
            inner = mutant
            for step in path[:-1]:
                inner = inner[step]
            inner[path[-1]] = data.removeprefix("-") if data.startswith("-") else "-" + data
            if data != "0":
                yield path, mutant
    yield from mutants_of_text(made)


def mutants_of_text(made):
    text = made["program"]["text"]
    lines = text.splitlines(keepends=True)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type != tokenize.NUMBER:
            continue
        for other in (*changed(token.string), ) if token.string.isdigit() else (
            token.string + "1", token.string[:-1] + str((int(token.string[-1]) + 1) % 10),
        ):  # fmt: skip
            row, column = token.start
            line = lines[row - 1]
            written = [*lines]
            written[row - 1] = line[:column] + other + line[column + len(token.string) :]
            new = "".join(written)
            try:
                canonical = compile_text(new, made["program"]["name"]).digest()
            except Refused:
                continue
            program = {
                "text": new,
                "name": made["program"]["name"],
                "digest": hashlib.sha256(new.encode()).hexdigest(),
                "canonical": canonical,
            }
            yield ("text", token.string, other), made | {"program": program}


class Judge:
    """Says whether a certificate may be true of what it says."""

    def __init__(self, oracle):
        self.oracle = oracle
        self.chances = oracle.Chances()
        self.known = {}

    def accepts(self, made):
        lower, upper = F(made["lower"]), F(made["upper"])
        assert lower > 0
        assert upper >= 0
        assert self.oracle.contradicts(made["claim"], made["hint"], lower, upper)
        slack = self.oracle.quantity(made["claim"].get("delta", "0"))
        if made["epsilon"] == "Infinity":
            assert upper == 0
        else:
            stated = self.oracle.mpmath.exp(self.oracle.quantity(made["epsilon"]))
            assert stated * upper.numerator / upper.denominator + slack <= (
                self.oracle.mpmath.mpf(lower.numerator) / lower.denominator
            )
        x, x_prime = value(made["x"], "x"), value(made["x_prime"], "x_prime")
        assert x != x_prime
        self.neighbours(made["relation"], x, x_prime)
        likely, other = (x, x_prime) if made["likely_under"] == "x" else (x_prime, x)
        assert self.mean(made, likely)[1] >= lower
        assert self.mean(made, other)[0] <= upper

    def neighbours(self, relation, x, x_prime):
        if relation["kind"] == "given":
            return
        by = F(relation["by"])
        if relation["kind"] == "numbers":
            assert abs(x - x_prime) <= by
            return
        apart = [abs(a - b) for a, b in zip(x, x_prime, strict=True)]
        assert max(apart) <= by
        assert relation["change"] == "all" or sum(map(bool, apart)) == 1
        if relation["whole"]:
            assert all(v.denominator == 1 for v in (*x, *x_prime))

    def mean(self, made, data):
        """Bounds of the expectation of the witness."""
        program = made["program"]
        key = (program["text"], json.dumps(made["witness"]), repr(data))
        if key not in self.known:
            self.known[key] = self._mean(program, made["witness"], made["proof"], data)
        return self.known[key]

    def _mean(self, program, witness, proof, data):
        limits = Limits(seconds=20)
        if witness["kind"] == "event":
            rounds = min(60, 2 * max(proof["rounds"], proof["rounds_other"]))
            limits = Limits(rounds, min(proof["small"], 60), seconds=20)
        paths = explore(compile_text(program["text"], program["name"]), data, limits).paths
        if witness["kind"] == "square":
            return self._square(paths, witness)
        patterns = read_event(witness)
        low = high = F(0)
        for path in paths:
            if not path.finished:
                high += path.mass * sum(share for share, _ in path.spent)
                continue
            for constraints in (matched(pattern, path.output) for pattern in patterns):
                if constraints is not None:
                    least, most = self.chances.path(path, tuple(constraints))
                    low, high = low + least, high + most
        if not any(path.draws or path.constraints for path in paths):
            real = self.oracle.Real(program["text"], program["name"])
            found, rest = self.oracle.enumerated(
                real, data, lambda out: any(self._matches(p, out) for p in patterns)
            )
            low, high = max(low, found), min(high, found + rest)
        assert low <= high
        return low, high

    def _matches(self, pattern, output):
        def exact(out):
            if isinstance(out, list | tuple):
                return tuple(map(exact, out))
            return F(out) if isinstance(out, int) and not isinstance(out, bool) else out

        return matched(pattern, exact(output)) is not None

    def _square(self, paths, witness):
        weights, p = (list(map(F, witness[key])) for key in ("weights", "coefficients"))
        total = F(0)
        for path in paths:
            assert path.finished
            assert not path.constraints
            form = F(0)
            for weight, number in zip(weights, numbers(path.output), strict=True):
                form = self.oracle.plus(form, self.oracle.scaled(number, weight))
            mass = path.mass * sum(share for share, _ in path.spent)
            total += mass * sum(
                a * b * self.oracle.mean_power(form, path.draws, i + j)
                for i, a in enumerate(p)
                for j, b in enumerate(p)
            )
        return total, total


def tried(oracle, made, stride):
    """(accepted, rejected) of the mutants; all that is accepted is judged."""
    judge = Judge(oracle)
    judge.accepts(made)
    accepted = rejected = 0
    for i, (place, mutant) in enumerate(mutants(made)):
        if i % stride:
            continue
        try:
            verify(mutant, seconds=30)
        except CertificateError:
            rejected += 1
            continue
        accepted += 1
        try:
            judge.accepts(mutant)
        except AssertionError as error:
            raise AssertionError(f"the mutant at {place} is false: {json.dumps(mutant)}") from error
    return accepted, rejected


@pytest.mark.filterwarnings("ignore::scipy.integrate.IntegrationWarning")
@pytest.mark.parametrize("key", sorted(set(BROKEN) - LONG))
def test_mutants(oracle, key):
    made = certificate(BROKEN[key], "auto")
    if made is None:
        pytest.skip("no certificate")
    made = related(made)
    stride = EVERY.get(key, 1)
    accepted, rejected = tried(oracle, made, stride)
    assert rejected * stride > 20
    assert accepted < 4 * rejected


@pytest.mark.parametrize("key", ["D1-bug", "D4-bug", "L1", "L6", "S4-n5", "A1-bug", "G3-bug"])
def test_the_judge_sees_what_is_false(oracle, key):
    made = certificate(BROKEN[key], "auto")
    judge = Judge(oracle)
    judge.accepts(made)
    lower, upper = F(made["lower"]), F(made["upper"])
    for change in ({"lower": str(lower * F(11, 10))}, {"upper": str(upper * F(9, 10))},
                   {"epsilon": str(F(made["epsilon"]) + F(1, 100))}, {"x": made["x_prime"]},
                   {"lower": made["upper"], "upper": made["lower"], "epsilon": "-9"}):  # fmt: skip
        with pytest.raises(AssertionError):
            judge.accepts(made | change)


SQUARES = ("D2-bug", "D3-bug", "D7-bug-n2", "D9", "D10-m3", "L1", "L2-eps0.7", "L3", "L6", "U1-bug")


@pytest.mark.parametrize("key", SQUARES)
def test_mutants_of_proofs_by_moments(oracle, key):
    made = certificate(BROKEN[key], "moments")
    accepted, rejected = tried(oracle, made, 1)
    assert rejected > 20
    assert accepted < rejected
