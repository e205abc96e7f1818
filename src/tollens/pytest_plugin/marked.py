"""Which tests use `dp`, and what their markers say."""

from __future__ import annotations

from typing import Any

import pytest

from tollens.errors import UsageError

MARKER = "dp"
MARKER_HELP = (
    "dp(claim=None, *, neighbours=None, budget=None, ...): what dp.audit uses in this test where "
    "it is given nothing else; tests that use the fixture dp have the marker by themselves"
)


def is_marked(item: pytest.Item) -> bool:
    """Whether a test has the marker."""
    return item.get_closest_marker(MARKER) is not None


def uses(item: pytest.Item) -> bool:
    """Whether a test uses our fixture `dp`, and not another one that goes by this name."""
    info = getattr(item, "_fixtureinfo", None)  # items of other kinds than functions have none
    found = () if info is None else info.name2fixturedefs.get(MARKER, ())
    for definition in reversed(found):
        if getattr(definition.func, "__module__", None) == __package__:
            return True
        if MARKER not in definition.argnames:  # it stands in front of ours and does not ask for it
            return False
    return False


def defaults(item: pytest.Item) -> dict[str, Any]:
    """What the markers of a test say: the nearest one wins, key by key."""
    found: dict[str, Any] = {}
    for mark in item.iter_markers(MARKER):
        if len(mark.args) > 1:
            raise UsageError(
                f"@pytest.mark.dp takes one claim, not {len(mark.args)} positional arguments; "
                "name all others, such as neighbours=..."
            )
        own = dict(mark.kwargs)
        if mark.args:
            if "claim" in own:
                raise UsageError("@pytest.mark.dp: the claim is given twice")
            own["claim"] = mark.args[0]
        found = {**own, **found}
    return found
