"""All entries of the catalogue, one module a library."""

from __future__ import annotations

from functools import cache

from catalogue.entries import diffprivlib, opendp, others, pydp, smartnoise
from catalogue.entry import Entry


@cache
def entries() -> dict[str, Entry]:
    """All entries by their id, in the order of the page."""
    modules = (opendp, diffprivlib, pydp, smartnoise, others)
    return {entry.id: entry for module in modules for entry in module.ENTRIES}
