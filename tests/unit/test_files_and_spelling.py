"""Files written as a whole, and what is printed on streams that are not UTF-8."""

import io
import os
import threading

import pytest
from rich.table import Table
from rich.text import Text

from tollens.report.files import write_whole
from tollens.report.spelling import never_fails, spelled_parts
from tollens.report.text import console


def test_files_are_replaced_and_made_as_a_whole(tmp_path):
    place, link = tmp_path / "a.prom", tmp_path / "link.prom"
    write_whole(place, "one\n")
    link.symlink_to(place)
    before = place.stat().st_ino
    write_whole(link, "two\n")
    assert place.read_text() == "two\n"
    assert link.is_symlink()
    assert place.stat().st_ino != before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.prom", "link.prom"]


@pytest.mark.skipif(os.name == "nt", reason="pipes with a name are those of POSIX")
def test_what_is_no_regular_file_is_written_to_and_stays(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()), daemon=True)
    reader.start()
    write_whole(pipe, "metrics\n")
    reader.join(10)
    assert got == ["metrics\n"]
    assert pipe.is_fifo()
    link = tmp_path / "null"
    link.symlink_to(os.devnull)
    write_whole(link, "metrics\n")
    assert link.is_char_device()
    assert [path.name for path in tmp_path.glob(".*")] == []


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "latin-1"])
def test_other_encodings_get_ascii(encoding):
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding)
    never_fails(stream)
    table = Table("leak ε", title="ε")
    table.add_row(Text("ε ≥ 1.5", "red"))
    shown = console(stream)
    for part in spelled_parts([Text("▁·█"), table, Text("日")], shown):
        shown.print(part)
    stream.flush()
    text = raw.getvalue().decode(encoding)
    assert text.startswith("_.#\n")
    assert "epsilon >= 1.5" in text
    assert "?" in text
    assert "+---" in text


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_without_colour_there_are_no_escapes_at_all(monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    plain, coloured = Terminal(), Terminal()
    console(plain, color=False).print(Text("ALARM", "bold red"))
    console(coloured).print(Text("ALARM", "bold red"))
    assert plain.getvalue() == "ALARM\n"
    assert "\x1b" in coloured.getvalue()
    monkeypatch.setenv("FORCE_COLOR", "1")
    plain = Terminal()
    console(plain, color=False).print(Text("ALARM", "bold red"))
    assert plain.getvalue() == "ALARM\n"
