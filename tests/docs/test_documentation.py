"""The documentation cannot drift: what it shows is run, what it links to exists."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import inspect
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import click
import pytest

import tollens
from tollens import cli
from tollens.cli_options import NOTHING_DECIDED, REFUTED
from tollens.verdict import Verdict

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    *sorted(path for path in (ROOT / "docs").rglob("*.md") if "_build" not in path.parts),
]
OPTIONAL = (
    "opendp", "diffprivlib", "pydp", "dp_accounting",
    "torch", "opacus", "jax", "mlflow", "wandb",
    "snsql", "pandas", "polars", "tmlt",
)  # fmt: skip
GENERATE = runpy.run_path(str(ROOT / "docs" / "generate.py"))

_FENCE = re.compile(r"^```(?P<language>[^\n]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\((?P<target>[^()\s]+)\)")


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


every_page = pytest.mark.parametrize("page", PAGES, ids=name)


class Block(NamedTuple):
    """A fenced block of a page; `line` is that of its first line of text."""

    language: str
    text: str
    line: int


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(found["language"].strip(), found["text"], text[: found.start("text")].count("\n") + 1)
        for found in _FENCE.finditer(text)
    ]


# What is generated


@pytest.mark.parametrize("page", GENERATE["pages"](), ids=name)
def test_generated_parts_are_what_is_generated_now(page):
    assert page.read_text(encoding="utf-8") == GENERATE["render"](page), (
        f"{name(page)} is out of date: run `python docs/generate.py`"
    )


def test_every_marked_block_has_a_function_and_every_function_a_block():
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert set(re.findall(r"<!-- generated: ([a-z-]+) -->", text)) == set(GENERATE["BLOCKS"])
    assert text.count("<!-- generated: ") == text.count("<!-- end -->")


def test_the_command_line_page_has_every_command_and_option():
    page = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")

    def look(command: click.Command, path: str) -> None:
        for child_name, child in getattr(command, "commands", {}).items():
            look(child, f"{path} {child_name}")
        if not isinstance(command, click.Group):
            assert f"## `{path}`" in page
            for option in command.params:
                if isinstance(option, click.Option):
                    assert f"`{option.opts[-1]}" in page

    look(cli.main, "tollens")


# What is shown is run


class Runner:
    """Runs the blocks of one page in order, in a folder and a namespace of their own."""

    def __init__(self, page: Path, folder: Path) -> None:
        self.page, self.folder = page, folder
        self.namespace: dict[str, object] = {"__name__": f"page_{page.stem.replace('-', '_')}"}
        self.exit_code = 0

    def python(self, block: Block) -> None:
        if any(needs(block.text, library) and not installed(library) for library in OPTIONAL):
            return
        if ">>> " in block.text:
            self.doctest(block)
            return
        if found := re.match(r"# (\w+\.py)\n", block.text):
            (self.folder / found[1]).write_text(block.text, encoding="utf-8")
            if found[1].startswith("test_"):
                assert self.pytest(["-q", found[1]]) == 0
                return
        before = set(self.namespace)
        code = compile("\n" * (block.line - 1) + block.text, str(self.page), "exec")
        exec(code, self.namespace)
        for new in set(self.namespace) - before:
            if new.startswith("test_"):
                self.namespace[new]()

    def doctest(self, block: Block) -> None:
        case = doctest.DocTestParser().get_doctest(
            block.text, self.namespace, name(self.page), str(self.page), block.line - 1
        )
        examples = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
        report: list[str] = []
        examples.run(case, out=report.append, clear_globs=False)
        assert not report, "".join(report)
        self.namespace.update(case.globs)

    def console(self, block: Block) -> None:
        lines = block.text.splitlines()
        for i, line in enumerate(lines):
            if not line.startswith("$ "):
                continue
            words = shlex.split(line[2:], comments=True)
            if words == ["echo", "$?"]:
                assert lines[i + 1] == str(self.exit_code), f"{line} after exit {self.exit_code}"
            elif words[0] == "tollens":
                self.tollens(words[1:])
            elif words[0] == "pytest":
                self.exit_code = self.pytest(words[1:])
            elif words[0] == "make":
                makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
                assert re.search(rf"^{words[1]}:", makefile, re.MULTILINE), line
            else:
                assert words[:2] == ["pip", "install"], f"unknown command: {line}"

    def pytest(self, arguments: list[str]) -> int:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *arguments],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode in (0, 1), done.stdout
        return done.returncode

    def tollens(self, arguments: list[str]) -> None:
        done = subprocess.run(
            [sys.executable, "-c", "from tollens.cli import main; main()", *arguments],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        self.exit_code = done.returncode
        assert done.returncode in (0, REFUTED, NOTHING_DECIDED), done.stderr


def needs(text: str, library: str) -> bool:
    """Whether the library is imported, or our module for it is."""
    return re.search(rf"^ *(import|from) (tollens\.)?{library}\b", text, re.MULTILINE) is not None


def installed(library: str) -> bool:
    return importlib.util.find_spec(library) is not None


@every_page
@pytest.mark.filterwarnings("ignore")
def test_the_blocks_of_a_page_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if installed("torch") and any(needs(block.text, "torch") for block in blocks(page)):
        importlib.import_module("torch").manual_seed(0)  # what it trains has no seed of its own
    runner = Runner(page, tmp_path)
    for block in blocks(page):
        if block.language == "python":
            runner.python(block)
        elif block.language == "console":
            runner.console(block)


@every_page
def test_every_block_names_its_language(page):
    known = {"python", "console", "text", "toml", "yaml", "{toctree}", "{eval-rst}"}
    for block in blocks(page):
        assert block.language in known or block.language.startswith(
            ("{include}", "{literalinclude}")
        ), block


# What is linked exists


def anchors(page: Path) -> set[str]:
    """The anchors of the headings, as Markdown renderers make them."""
    headings = re.findall(r"^#+ (.*)$", _FENCE.sub("", page.read_text(encoding="utf-8")), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@every_page
def test_internal_links_lead_somewhere(page):
    for target in _LINK.findall(_FENCE.sub("", page.read_text(encoding="utf-8"))):
        if target.startswith(("http:", "https:")):
            continue
        place, _, anchor = target.partition("#")
        linked = (page.parent / place).resolve() if place else page
        assert linked.is_file(), f"{name(page)} links to {target}"
        assert not anchor or anchor in anchors(linked), f"{name(page)} links to {target}"


def test_the_table_of_contents_has_every_page():
    listed = set()
    for page in PAGES:
        for block in blocks(page):
            if block.language == "{toctree}":
                entries = [line for line in block.text.split("\n") if line and line[0] != ":"]
                for entry in entries:
                    listed.update(page.parent.glob(f"{entry}.md"))
    included = {ROOT / "docs" / "index.md", ROOT / "docs" / "decisions" / "slots-measured.md"}
    assert {page for page in PAGES if "docs" in page.parts} == listed | included


# What is public is explained


@pytest.mark.parametrize("public", sorted(set(tollens.__all__) - {"__version__"}))
def test_every_public_name_has_a_docstring_and_an_example(public):
    value = getattr(tollens, public)
    assert inspect.getdoc(value)
    members = vars(value).values() if isinstance(value, type) else ()
    docstrings = [inspect.getdoc(explained) or "" for explained in (value, *members)]
    shown = [block.text for page in PAGES for block in blocks(page) if block.language == "python"]
    assert any(">>> " in text for text in docstrings) or any(
        f"tollens.{public}" in text for text in shown
    ), f"tollens.{public} has no doctest and no example in the documentation"


@pytest.mark.parametrize("public", sorted(set(tollens.__all__) - {"__version__"}))
def test_the_api_page_has_every_public_name(public):
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    assert re.search(rf":: tollens\.{public}$", page, re.MULTILINE)


def test_the_page_on_verdicts_explains_every_key_of_the_json_and_every_label():
    page = (ROOT / "docs" / "reading-a-verdict.md").read_text(encoding="utf-8")
    verdict = tollens.audit(lambda x, rng: rng.normal(x), "epsilon=9", neighbours=(0, 1), alpha=0.5)
    assert isinstance(verdict, Verdict)
    for key in verdict.to_dict():
        assert f"| `{key}` |" in page, key
    get = importlib.import_module("tollens.zoo.programs").get
    proved = tollens.refute(get("L1").function, "epsilon=1", neighbours=(1, 0))
    for label, _ in (*verdict.lines()[1:], *proved.lines()[1:]):
        assert f"\n**{label}**\n" in page, label
