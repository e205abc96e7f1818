"""Files written as a whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path


def write_whole(path: Path, content: str) -> None:
    """Write a file beside its place and move it there, so that nobody reads half of it.

    Everybody may read it who may read other new files here. What is there and no regular file, such
    as a device or a pipe, is never replaced but written to. Raises `OSError`.
    """
    if path.exists() and not path.is_file():
        path.write_text(content, encoding="utf-8")
        return
    path = path.resolve()
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(content)
        mask = os.umask(0)
        os.umask(mask)
        Path(name).chmod(0o666 & ~mask)
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
