"""The page and the summary: everybody finds what they look for, and texts of others stay texts."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import itertools
import json
import re
import subprocess
import sys
from html.parser import HTMLParser

import pytest

import tollens
from tollens.report.contents import Contents, Item, Source
from tollens.report.markdown import MOST_BYTES, code, markdown_document
from tollens.report.markup import markup, visible

from .conftest import HOSTILE, MOMENT

pytest.importorskip("jinja2")

from tollens.report.page import html_page

VOID = {"meta", "input", "br", "link", "img"}
SVG_VOID = {"line", "rect", "polyline", "polygon", "circle", "path"}


class Page(HTMLParser):
    """Elements of a page with their attributes, its text, and whether all of it is closed."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.words, self.open = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())

    def all(self, tag):
        return [attrs for name, attrs in self.elements if name == tag]


@pytest.fixture
def page(contents):
    return Page(html_page(contents, now=MOMENT))


def test_it_is_well_formed_and_no_id_is_there_twice(page):
    assert page.open == []
    ids = [attrs["id"] for _, attrs in page.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    targets = [a["href"][1:] for a in page.all("a") if a["href"].startswith("#")]
    assert targets and set(targets) <= set(ids)
    named = [a["aria-labelledby"] for _, a in page.elements if "aria-labelledby" in a]
    assert set(named) <= set(ids)


def test_it_needs_no_network_and_no_script(contents):
    text = html_page(contents, now=MOMENT)
    page = Page(text)
    assert not {"script", "link", "img", "iframe", "object", "form", "base"} & {
        tag for tag, _ in page.elements
    }
    for _, attrs in page.elements:
        assert not [name for name in attrs if name.startswith("on") or name in ("style", "src")]
    assert all(a["href"].startswith(("#", "data:application/json;base64,")) for a in page.all("a"))
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    (policy,) = [m["content"] for m in page.all("meta") if "http-equiv" in m]
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )
    assert not re.search(r"url\(|@import", style)


def test_headings_landmarks_and_tables_are_for_everybody(page):
    tags = [tag for tag, _ in page.elements]
    levels = [int(tag[1]) for tag in tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(b <= a + 1 for a, b in itertools.pairwise(levels))
    assert {"header", "nav", "main", "footer"} <= set(tags)
    assert tags.count("table") == tags.count("caption")
    assert all("scope" in th for th in page.all("th"))


def test_the_three_readers_find_their_answers(page, verdicts):
    text = page.text
    for verdict in verdicts.values():
        for label, line in verdict.lines()[1:]:
            assert " ".join(visible(line).split()) in text, label
    refuted = verdicts["refuted"]
    assert "tollens audit src/a.py::refuted --claim epsilon=1" in text and "--seed 3" in text
    assert refuted.claim.words()[1:] in text
    assert "UNREFUTED never means" in text and "taken on the word" in text
    assert refuted.evidence.digest in text and "Ville" in text and "union bound" in text
    assert f"numpy {refuted.versions['numpy']}" in text
    assert "src/b.py::f: it raised" in text and "alarm at step 46" in text


def test_the_certificate_can_be_saved_and_verified(page):
    (link,) = [a["href"] for a in page.all("a") if "download" in a]
    document = json.loads(base64.b64decode(link.partition(",")[2]))
    assert tollens.verify(document).mechanism == "proved_count"


def hostile(verdicts, size=1):
    name = HOSTILE * size
    verdict = dataclasses.replace(
        verdicts["refuted"], mechanism=name, notes=(name,), versions={name[:40]: name}
    )
    source = Source(name, "0" * 64, 3, name)
    item = Item(f"{name}::f", verdict, (name,))
    return Contents((item, Item(name, verdict, test=True)), problems=(name,), sources=(source,))


def test_hostile_names_stay_text(verdicts):
    text = html_page(hostile(verdicts), title=HOSTILE)
    page = Page(text)
    assert page.open == [] and "script" not in {tag for tag, _ in page.elements}
    assert "<script>alert('x')</script>" in page.text and "{{ 7*7 }}" in page.text
    assert not re.search("[\x00\x1b\u202e\ud800]", text) and "\\u202e" in text
    text.encode("utf-8")


def test_texts_of_a_megabyte_are_cut(verdicts):
    contents = hostile(verdicts, size=14_000)
    assert len(contents.items[0].verdict.mechanism) > 1_000_000
    assert len(html_page(contents)) < 300_000
    assert len(markdown_document(contents)) < 200_000


def test_two_hundred_verdicts_are_less_than_three_megabytes(verdicts):
    kinds = [verdicts["refuted"], verdicts["gaussian"], verdicts["raises"], verdicts["kept"]]
    items = [Item(f"src/a.py::f{i}", kinds[i % 4]) for i in range(200)]
    text = html_page(Contents(tuple(items)))
    assert len(text.encode()) < 3_000_000
    page = Page(text)
    assert page.open == [] and len(page.all("article")) == 200 and len(page.all("svg")) == 550
    assert "show-refuted" in [a.get("id") for a in page.all("input")]


def test_what_is_missing_is_named_where_there_is_no_jinja():
    program = (
        "import sys; sys.modules['jinja2'] = None\n"
        "from tollens.report.contents import Contents\n"
        "from tollens.report.page import html_page\n"
        "from tollens.errors import UsageError\n"
        "try: html_page(Contents())\n"
        "except UsageError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "a report in HTML needs Jinja2: pip install 'tollens[report]'"


class TestMarkdown:
    def test_it_says_what_was_shown(self, contents, verdicts):
        text = markdown_document(contents)
        head = text.splitlines()[0]
        assert head == f"### tollens: {contents.summary()}"
        for item in contents.items:
            line = next(row for row in text.splitlines() if code(item.target) in row)
            assert line.startswith(f"| **{item.verdict.outcome.name}** |") and line.count("|") == 6
        said = verdicts["refuted"].lines()
        assert all(markup(" ".join(line.split())) in text for _, line in said)
        assert text.count("<details>") == text.count("</details>") == 6
        assert "UNREFUTED never means" in text

    def test_nothing_of_a_name_is_markdown(self, verdicts):
        text = markdown_document(hostile(verdicts))
        assert "<script" not in text and "\u202e" not in text
        rows = [row for row in text.splitlines() if row.startswith("| **")]
        assert len(rows) == 2 and all(row.count("|") == 6 for row in rows)
        inner = re.findall(r"<code>(.*?)</code>", "\n".join(rows))
        assert not re.search(r"[`*_\[\]|~@#$\\<>!:](?<!&#)", re.sub(r"&#\d+;", "", "".join(inner)))

    def test_it_fits_into_a_job_summary(self, verdicts):
        items = [Item(f"a.py::f{i}", verdicts["refuted"]) for i in range(3000)]
        text = markdown_document(Contents(tuple(items)))
        assert len(text.encode()) < MOST_BYTES + 1000
        assert "2,500 more verdicts are not shown" in text and "little room" in text


def test_commands_that_do_it_again_are_for_a_shell(verdicts):
    item = Item("a b.py::f", verdicts["refuted"])
    assert item.again.startswith("tollens audit 'a b.py::f' --claim epsilon=1 --x '[1, 1, 1]'")
    assert (
        Item("t.py::test[$(x)]", verdicts["kept"], test=True).again == "pytest 't.py::test[$(x)]'"
    )
    assert Item("count", verdicts["kept"]).again is None
    assert Item("count", verdicts["proved"], ("p.json",)).again == "tollens verify p.json"
    again = Item("p.py::count", verdicts["proved"], ("check.json",)).again
    assert again is not None and again.startswith("tollens refute p.py::count --claim ")


def test_the_alphas_of_a_report_add_up(verdicts):
    two = Contents((Item("a", verdicts["refuted"]), Item("b", verdicts["kept"])))
    assert two.alpha == pytest.approx(2e-6)
    assert Contents((Item("p", verdicts["proved"]),)).alpha == 0
