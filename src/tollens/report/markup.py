"""Texts of others within markup: what XML cannot hold and what hides text is written as an escape.

Names, outputs and exceptions come from code that is looked at. In a report they stay text.
"""

from __future__ import annotations

import re
from html import escape

_ILLEGAL = re.compile("[^\t\n\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TURNING = re.compile("[\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")


def legal(text: str) -> str:
    r"""The text with every character that XML 1.0 cannot hold written as an escape.

    >>> legal("a\x00b\x1b[1m\ud800")
    'a\\x00b\\x1b[1m\\ud800'
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return _ILLEGAL.sub(_escaped, lines)


def visible(text: str, most: int | None = None) -> str:
    r"""The same, and so is what turns the direction of text or has no width; `most` letters of it.

    >>> visible("user\u202etxt.exe"), visible("abcdef", 4)
    ('user\\u202etxt.exe', 'abc…')
    """
    if most is not None and len(text) > most:
        text = text[: most - 1] + "…"
    return _TURNING.sub(_escaped, legal(text))


def markup(text: str, most: int | None = None) -> str:
    """A text as content or attribute of XML or HTML.

    >>> markup("a < b ]]> 'c'")
    'a &lt; b ]]&gt; &#x27;c&#x27;'
    """
    return escape(visible(text, most))


def _escaped(found: re.Match[str]) -> str:
    code = ord(found.group())
    return f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}"
