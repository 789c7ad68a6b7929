"""The page that a browser is given: one file, and a policy that lets nothing else in."""

from __future__ import annotations

import base64
import hashlib
import json
from importlib.resources import files
from typing import NamedTuple

from dpdl.pages.lines import DASHES, HUES
from dpdl.pages.theme import DARK, LIGHT, variables

PALETTE = f"""
:root {{ color-scheme: light; {variables(LIGHT)} }}
@media screen and (prefers-color-scheme: dark) {{
  :root:not([data-theme=light]) {{ color-scheme: dark; {variables(DARK)} }}
}}
@media screen {{
  :root[data-theme=dark] {{ color-scheme: dark; {variables(DARK)} }}
}}
"""


class ServedPage(NamedTuple):
    """HTML, and the Content-Security-Policy under which it runs."""

    html: bytes
    policy: str


def served_page() -> ServedPage:
    """Style and script are inside, allowed by their hashes; data come from the same server."""
    report, watch = files("dpdl.pages"), files("dpdl.watch")
    style = PALETTE + report.joinpath("curves.css").read_text("utf-8")
    style += watch.joinpath("watch.css").read_text("utf-8")
    script = report.joinpath("curves.js").read_text("utf-8")
    script += f"const HUES = {json.dumps({name: hue._asdict() for name, hue in HUES.items()})};\n"
    script += f"const DASHES = {json.dumps(list(DASHES.values()))};\n"
    script += watch.joinpath("watch.js").read_text("utf-8")
    html = watch.joinpath("watch.html").read_text("utf-8")
    html = html.replace("/*style*/", style).replace("/*script*/", script)
    return ServedPage(html.encode(), policy(style, script))


def policy(style: str, script: str) -> str:
    """Only this style, only this script, and no answers but ours."""
    return (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
