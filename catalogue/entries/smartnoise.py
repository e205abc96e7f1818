"""SmartNoise SQL 1.0."""

from __future__ import annotations

import tollens
from catalogue.entry import Source
from tollens import domains as d

SQL = Source("SmartNoise SQL", "snsql_queries.py")

PEOPLE = tollens.add_remove(
    d.tables(
        {
            "age": d.integers(0, 10),
            "share": d.reals(0, 1),
            "city": d.choices(["a", "b"]),
        },
        sizes=[0, 1, 4],
    )
)[:8]  # a query takes a fortieth of a second

MANY = ([0.0] * 1492 + [1.0], [0.0] * 1491 + [1.0])

ENTRIES = (
    *SQL.each("count", PEOPLE, sound="snsql101 snsql1010", pairs=400),
    *SQL.each("int_sum", PEOPLE, sound="snsql106 snsql1010", pairs=400),
    *SQL.each("float_sum", PEOPLE, sound="snsql101 snsql1010", pairs=400),
    *SQL.each("mean", PEOPLE, unknown="snsql106", pairs=400),
    *SQL.each("variance", PEOPLE[:2], unknown="snsql101", pairs=700),
    *SQL.each("cities", PEOPLE, sound="snsql1010", pairs=400),
    *SQL.each(
        "bounds", tollens.add_remove(d.lists(d.reals(infinite=True))), broken="snsql101",
        pairs=1000, source="notes of release 1.0.2 of SmartNoise SQL",
    ),
    *SQL.each(
        "bounds", tollens.add_remove(d.lists(d.reals(infinite=True))), sound="snsql106 snsql1010",
        pairs=1000,
    ),
    *SQL.each(
        "median", MANY, broken="snsql101", given=True, pairs=1000,
        source="opendp/smartnoise-sdk issue 572",
    ),
)  # fmt: skip
