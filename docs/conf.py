"""How the documentation is built; everything works without a network."""

from importlib.metadata import version as installed_version

from docutils import nodes
from docutils.utils.math import latex2mathml

project = "tollens"
copyright = "the tollens developers"
release = installed_version("tollens")
version = release

extensions = ["myst_parser", "sphinx.ext.autodoc"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
suppress_warnings = ["myst.strikethrough"]

myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3

default_role = "code"  # docstrings write `names` with single backticks
smartquotes = False  # x' is an input, not a quotation
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
python_display_short_literal_types = True
maximum_signature_line_length = 88

html_theme = "furo"
html_title = f"tollens {release}"
html_show_sphinx = False
html_math_renderer = "mathml"


def mathml(text, *, block):
    """Formulas as MathML, which browsers show without any script."""
    if block and ("\\\\" in text or "&" in text):
        text = f"\\begin{{aligned}}{text}\\end{{aligned}}"
    mathml_tree = latex2mathml.tex2mathml(text, as_block=block)
    return mathml_tree if isinstance(mathml_tree, str) else mathml_tree.toxml()


def inline_math(translator, node):
    translator.body.append(mathml(node.astext(), block=False))
    raise nodes.SkipNode


def block_math(translator, node):
    translator.body.append(f"<div class='math'>{mathml(node.astext(), block=True)}</div>")
    raise nodes.SkipNode


def is_item(line):
    return line.startswith(("* ", "- "))


def mend_lists(_app, _what, _name, _object, _options, lines):
    """Docstrings are plain text: a list that follows a line directly gets its blank line."""
    mended = []
    for line in lines:
        before = mended[-1].lstrip() if mended else ""
        if is_item(line.lstrip()) and before and not is_item(before):
            mended.append("")
        mended.append(line)
    lines[:] = mended


def setup(app):
    app.add_html_math_renderer("mathml", (inline_math, None), (block_math, None))
    app.connect("autodoc-process-docstring", mend_lists)
    return {"parallel_read_safe": True}
