"""Bounds of the probability that affine constraints hold on draws, some of them normal.

Draws without normal ones among their neighbours are integrated exactly. For the others the
constraints must tie draws pairwise into trees (`concave` integrates those); normal draws that
occur only in one and the same sum count as one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from tollens.checker.concave import Branch, Integral, Place
from tollens.checker.draws import Draw
from tollens.checker.enclosures import Bounds
from tollens.checker.errors import CertificateError
from tollens.checker.form import Form, groups
from tollens.checker.integration import Integrator, enclosure
from tollens.checker.laws import ONE, ZERO, Law, law_of, sum_of_normals

CELLS = 384
"""Cells of an integral; its bounds then differ by some parts in 10^4."""

BITS = 64
"""The relative precision of laws."""

Coefficients = dict[int, Fraction]
Constraint = tuple[Fraction, Coefficients]
"""A constant and the coefficients of draws: the sum is at least 0."""


def probability(
    draws: Sequence[Draw], forms: Iterable[Form], integral: Integral | None = None
) -> Bounds:
    """Bounds of P(all forms >= 0); symbol i of the forms is `draws[i]`.

    An `integral` that serves several calls bounds the work of all of them. Raises
    `CertificateError` where the constraints are no trees of draws, or the work is too much.

    >>> one = [Draw("gauss", (ONE,))]
    >>> [f"{float(p):.9f}" for p in probability(one, [Form(ZERO - 2, ((0, ONE),))])]
    ['0.022750132', '0.022750132']
    """
    integral = integral or Integral(CELLS)
    below = above = ONE
    for part in parts(draws, forms):
        if isinstance(part, Branch):
            low, high = integral.total(part)
        elif part[0].terms:
            low, high = enclosure(Integrator().probability(draws, part), BITS)
        else:
            low = high = ONE if part[0].constant >= 0 else ZERO
        below, above = below * max(ZERO, low), above * min(ONE, high)
    return below, above


def parts(draws: Sequence[Draw], forms: Iterable[Form]) -> list[Branch | list[Form]]:
    """What forms of independent draws fall into: trees, and forms without normal draws."""
    found: list[Branch | list[Form]] = []
    clean = (Form(form.constant, tuple(term for term in form.terms if term[1])) for form in forms)
    for symbols, members in groups(clean):
        if any(draws[i].kind == "gauss" for i in symbols):
            constraints = [(form.constant, dict(form.terms)) for form in members]
            found.append(_tree(*_fused(draws, constraints)))
        else:
            found.append(members)
    return found


def _fused(
    draws: Sequence[Draw], part: Sequence[Constraint]
) -> tuple[dict[int, Law], list[Constraint]]:
    """The laws of the draws; normal ones with proportional coefficients throughout become one."""
    columns: dict[int, list[tuple[int, Fraction]]] = {}
    for k, (_, terms) in enumerate(part):
        for i, c in terms.items():
            columns.setdefault(i, []).append((k, c))
    laws: dict[int, Law] = {}
    same: dict[object, list[int]] = {}
    for i, column in columns.items():
        if draws[i].kind == "gauss":
            lead = column[0][1]
            same.setdefault(tuple((k, c / lead) for k, c in column), []).append(i)
        else:
            laws[i] = law_of(draws[i], BITS)
    gone: set[int] = set()
    for first, *others in same.values():
        lead = columns[first][0][1]
        laws[first] = sum_of_normals(
            [(columns[i][0][1] / lead * draws[i].parameters[0]) ** 2 for i in (first, *others)],
            BITS,
        )
        gone.update(others)
    return laws, [(k, {i: c for i, c in terms.items() if i not in gone}) for k, terms in part]


def _tree(laws: Mapping[int, Law], constraints: Sequence[Constraint]) -> Branch:
    """The tree that constraints of one or two draws each make, from a root that serves."""
    nodes = {i: Branch(law) for i, law in laws.items()}
    edges: dict[int, dict[int, list[Constraint]]] = {i: {} for i in laws}
    for constant, terms in constraints:
        match list(terms.items()):
            case [(i, c)]:
                nodes[i] = _limited(nodes[i], -constant / c, c > 0)
            case [(i, _), (j, _)]:
                for one, other in ((i, j), (j, i)):
                    edges[one].setdefault(other, []).append((constant, terms))
            case _:
                raise CertificateError("a normal draw in a constraint on three draws or more")
    if sum(map(len, edges.values())) != 2 * (len(nodes) - 1):
        raise CertificateError("constraints on normal draws that are no trees")
    for root in sorted(nodes, key=lambda i: (-len(edges[i]), i)):
        made = _hung(nodes, edges, root, None)
        if made.simple():
            return made
    raise CertificateError("constraints on normal draws with an inner draw between two others")


def _limited(node: Branch, end: Fraction, above: bool) -> Branch:
    low, high = node.ends
    if above:
        return replace(node, ends=(end if low is None else max(low, end), high))
    return replace(node, ends=(low, end if high is None else min(high, end)))


def _hung(
    nodes: Mapping[int, Branch], edges: Mapping[int, Mapping[int, list[Constraint]]],
    i: int, over: int | None,
) -> Branch:  # fmt: skip
    """The tree from draw i on, hung of a draw over it."""
    lows: list[Place] = []
    highs: list[Place] = []
    if over is not None:
        for constant, terms in edges[i][over]:
            (lows if terms[i] > 0 else highs).append(
                (-constant / terms[i], -terms[over] / terms[i])
            )
    below = tuple(_hung(nodes, edges, j, i) for j in edges[i] if j != over)
    return replace(nodes[i], lows=tuple(sorted(lows)), highs=tuple(sorted(highs)), branches=below)
