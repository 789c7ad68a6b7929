"""What the documentation has beyond Markdown; `mkdocs.yml` names this file as a hook.

Formulas become MathML, with the part of a font that they need, so that they look the same everywhere. Words in
code, such as the name of an option, are kept on one line. What the reference shows has a docstring.
"""

from __future__ import annotations

import re
from html import unescape
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from docstrings import undocumented
from fontTools import subset
from mathml import FormulaError, characters, mathml
from mkdocs.exceptions import PluginError

FORMULA = re.compile(
    r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL
)
"""What the extension arithmatex leaves of a formula in a page."""
TAG = re.compile(r"<[^>]*>")
WIDE = 24
"""Characters of a formula in a line of text that may not fit on a phone."""
CODE = re.compile(r"(?<!<pre>)<code>([^<]*)</code>")
WORD = re.compile(r"\S{1,34}(?!\S)")
"""A word so short that it fits on a phone."""


def on_page_markdown(markdown: str, page: Any, **_: Any) -> None:
    """Nothing changes; a name of the reference without a docstring stops the build."""
    if missing := undocumented(markdown):
        raise PluginError(f"{page.file.src_uri}: no docstring: {', '.join(missing)}")


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """The page with its formulas set; one that cannot be read stops the build."""
    try:
        return CODE.sub(_together, FORMULA.sub(_set, html))
    except FormulaError as error:
        raise PluginError(f"{page.file.src_uri}: {error}") from error


def on_post_build(config: Any, **_: Any) -> None:
    """The font of the formulas beside `site.css`: STIX Two Math, as the package ziamath brings it."""
    options = subset.Options(flavor="woff", layout_features=["ssty", "dtls", "flac"])
    options.name_IDs = [0, 1, 2, 13, 14]  # who made it, its name and its licence
    (package,) = find_spec("ziamath").submodule_search_locations
    whole = Path(package) / "fonts" / "STIXTwoMath-Regular.ttf"
    font = subset.load_font(str(whole), options)
    part = subset.Subsetter(options)
    part.populate(unicodes=characters())
    part.subset(font)
    subset.save_font(font, str(Path(config.site_dir) / "assets" / "math.woff"), options)


def _set(found: re.Match[str]) -> str:
    block = found[2] == "["
    formula = mathml(unescape(found[3]), block=block)
    if block:
        return f'<div class="formula">{formula}</div>'
    shown = TAG.sub("", formula)
    return formula if len(shown) < WIDE else f'<span class="wide">{formula}</span>'


def _together(found: re.Match[str]) -> str:
    """Code in a line of text, whose words are not broken in the middle."""
    words = WORD.sub(lambda word: f'<span class="word">{word[0]}</span>', found[1])
    return f"<code>{words}</code>"
