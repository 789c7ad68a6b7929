"""The built documentation, opened from disk in a real browser: what `make docs` left in `site/`.

Skipped where it was not built, or is older than the pages; `.ci/run` builds it before the tests.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.documents import HOME
from tests.pages.browser import DESK, Browser, needed

SITE = HOME / "site"
SMALL = (360, 800)
PARTS = [
    *(HOME / "docs").rglob("*"),
    *(HOME / "tools").glob("*.py"),
    HOME / "mkdocs.yml",
]


def is_built() -> bool:
    front = SITE / "index.html"
    newest = max(path.stat().st_mtime for path in PARTS)
    return front.exists() and front.stat().st_mtime >= newest


built = pytest.mark.skipif(not is_built(), reason="site/ is not built: make docs")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    found = Browser(tmp_path_factory.mktemp("browser"))
    yield found
    found.close()


def requests(browser: Browser) -> list[str]:
    sent = [e for e in browser.events if e.get("method") == "Network.requestWillBeSent"]
    return [event["params"]["request"]["url"] for event in sent]


def prefer(browser: Browser, scheme: str) -> None:
    feature = {"name": "prefers-color-scheme", "value": scheme}
    browser.call("Emulation.setEmulatedMedia", features=[feature])


@built
def test_every_link_inside_leads_somewhere():
    missing = []
    for page in SITE.rglob("*.html"):
        if page.name == "404.html":
            continue
        for link in re.findall(r'(?:href|src)="([^"#?]+)', page.read_text("utf-8")):
            inside = not re.match(r"[a-z]+:|//", link)
            if inside and not (page.parent / unquote(link)).exists():
                missing.append(f"{page.relative_to(SITE)}: {link}")
    assert missing == []


@built
def test_no_page_loads_anything_from_elsewhere():
    """Links to other places may be followed; scripts, styles, fonts and pictures are here."""
    loads = r'<(?:script|img|iframe|source)[^>]+src="(https?:[^"]+)|<link[^>]+href="(https?:[^"]+)'
    found = {
        url
        for page in SITE.rglob("*.html")
        for urls in re.findall(loads, page.read_text("utf-8"))
        for url in urls
    }
    assert found - {""} == set()


@needed
@built
@pytest.mark.parametrize("page", ["index", "options", "privacy", "reference/index"])
def test_a_page_opens_from_disk_and_fits_on_a_phone(browser, page):
    browser.open(SITE / f"{page}.html", SMALL)
    assert all(url.startswith(("file:", "data:")) for url in requests(browser))
    assert browser.ask("document.documentElement.scrollWidth") <= SMALL[0]
    broken = "[...document.querySelectorAll('.word')].filter(w => w.getClientRects().length > 1)"
    assert browser.ask(f"{broken}.map(w => w.textContent)") == []


@needed
@built
@pytest.mark.parametrize(("scheme", "name"), [("dark", "slate"), ("light", "default")])
def test_the_page_is_as_dark_as_the_system(browser, scheme, name):
    prefer(browser, scheme)
    browser.open(SITE / "index.html", DESK)
    assert browser.ask("document.body.dataset.mdColorScheme") == name


@needed
@built
def test_formulas_are_set_in_their_font(browser):
    browser.open(SITE / "algorithms" / "dpdl.html", DESK)
    assert browser.ask("document.querySelectorAll('math').length") > 50
    assert browser.ask("document.body.innerText.includes('$')") is False
    assert any(url.endswith("assets/math.woff") for url in requests(browser))


@needed
@built
def test_search_works_from_disk(browser):
    browser.open(SITE / "index.html", DESK)
    field = "document.querySelector('[data-md-component=search-query]')"
    browser.ask(f"{field}.focus()")
    browser.ask(f"{field}.value = 'ledger'")
    browser.ask(f"{field}.dispatchEvent(new Event('input', {{bubbles: true}}))")
    browser.ask(f"{field}.dispatchEvent(new KeyboardEvent('keyup', {{bubbles: true}}))")
    links = "[...document.querySelectorAll('.md-search-result__link')].map(a => a.href)"
    end = time.monotonic() + 20
    while not (found := browser.ask(links)) and time.monotonic() < end:
        time.sleep(0.1)
    files = [
        Path(unquote(link.removeprefix("file://").partition("#")[0])) for link in found
    ]
    files = [Path(str(file).partition("?")[0]) for file in files]
    assert files
    assert all(file.is_file() for file in files)
