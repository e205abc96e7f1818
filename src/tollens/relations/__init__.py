"""Relations: many neighbouring pairs, likely worst ones first, each made when it is asked for."""

from __future__ import annotations

from tollens.relations.answers import queries
from tollens.relations.records import add_remove, substitute
from tollens.relations.relation import MAX_PAIRS, Node, Relation, as_relation
from tollens.relations.singles import any_two, numbers
from tollens.relations.text import parse_relation

__all__ = [
    "MAX_PAIRS",
    "Node",
    "Relation",
    "add_remove",
    "any_two",
    "as_relation",
    "numbers",
    "parse_relation",
    "queries",
    "substitute",
]
