"""What the documentation has beyond Markdown; `mkdocs.yml` names this file as a hook.

Formulas become MathML, and words in code, such as the name of an option, are kept on one line.
"""

from __future__ import annotations

import re
from html import unescape
from typing import Any

from mathml import FormulaError, mathml
from mkdocs.exceptions import PluginError

FORMULA = re.compile(
    r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL
)
"""What the extension arithmatex leaves of a formula in a page."""
CODE = re.compile(r"(?<!<pre>)<code>([^<]*)</code>")
WORD = re.compile(r"\S{1,34}(?!\S)")
"""A word so short that it fits on a phone."""


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """The page with its formulas set; one that cannot be read stops the build."""
    try:
        return CODE.sub(_together, FORMULA.sub(_set, html))
    except FormulaError as error:
        raise PluginError(f"{page.file.src_uri}: {error}") from error


def _set(found: re.Match[str]) -> str:
    block = found[2] == "["
    formula = mathml(unescape(found[3]), block=block)
    return f'<div class="formula">{formula}</div>' if block else formula


def _together(found: re.Match[str]) -> str:
    """Code in a line of text, whose words are not broken in the middle."""
    words = WORD.sub(lambda word: f'<span class="word">{word[0]}</span>', found[1])
    return f"<code>{words}</code>"
