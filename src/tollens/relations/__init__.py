"""Relations: many neighbouring pairs, likely worst ones first, each made when it is asked for."""

from __future__ import annotations

from tollens.relations.answers import MAX_PAIRS, queries
from tollens.relations.records import add_remove, substitute
from tollens.relations.relation import Relation, as_relation
from tollens.relations.text import parse_relation

__all__ = [
    "MAX_PAIRS",
    "Relation",
    "add_remove",
    "as_relation",
    "parse_relation",
    "queries",
    "substitute",
]
