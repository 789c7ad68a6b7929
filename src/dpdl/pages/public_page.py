"""Pages with a word on what epsilon does not cover, and pages for everybody that leave it out.

A page for everybody is made from the parts that are marked as public where they are made. Nothing
else can reach it: no other part, no title or link with the name of a folder (which often holds the
seed).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dpdl.errors import InputError
from dpdl.pages.alarms import alarm
from dpdl.pages.page import (
    Section,
    bullets,
    heading,
    highlighted,
    page,
    paragraphs,
    public,
)

KEY = "not-covered"
TITLE = "Not covered by epsilon"
ABOUT = "Agents on a graph train one model without a server."


def whole_page(names: str, sections: Sequence[Section], foot: str) -> str:
    """All that was found, for the one who holds the records."""
    notice = highlighted(
        "For you, not for others: parts of this page show more about private records "
        "than epsilon, the measure of privacy, accounts for. They have an orange line at "
        "their left, and a list of them is at the end. A page to give away is made by "
        "dpdl report --public."
    )
    shown = not_covered(sections)
    last = _box([*_limits(sections), *map(_sentence, shown)], sections)
    return page(
        f"dpdl: {names}", ABOUT, [*sections, last], foot, notice if shown else ""
    )


def public_page(sections: Sequence[Section], foot: str) -> str:
    """Only what is marked as public, with a word on what was left out."""
    kept = _public(sections)
    if not kept:
        raise InputError(
            "Nothing in these folders may be shown to everybody: an attack shows "
            "private records."
        )
    left = not_covered(sections)
    warned = dict.fromkeys(one for section in kept for one in section.alarms)
    shown = [section._replace(alarms=()) for section in kept]
    notice = highlighted(
        "Public version. It holds what epsilon covers, as far as its section "
        f"“{TITLE}” says, and what is about no record. Left out: "
        f"{'; '.join(left) if left else 'nothing'}."
    )
    results = [section.title for section in kept if not section.appendix]
    title = results[0] if len(results) == 1 else f"{len(results)} results"
    last = _box(_limits(kept), kept)
    top = "\n".join([notice, *map(alarm, warned)])
    return page(f"dpdl: {title}", ABOUT, [*shown, last], foot, top)


def not_covered(sections: Iterable[Section]) -> list[str]:
    """What the private parts show, in words."""
    return list(
        dict.fromkeys(
            part.what
            for section in sections
            for part in section.parts
            if not part.public
        )
    )


def _public(sections: Sequence[Section]) -> list[Section]:
    """The sections that have something for everybody, under keys that tell nothing."""
    found = [
        section._replace(parts=[part for part in section.parts if part.public])
        for section in sections
    ]
    return [
        section._replace(key=f"part-{k}")
        for k, section in enumerate(found, 1)
        if section.parts
    ]


def _limits(sections: Sequence[Section]) -> list[str]:
    return _once(
        [
            *([one.text for one in section.alarms] for section in sections),
            *(section.limits for section in sections),
        ]
    )


def _once(groups: Iterable[Sequence[str]]) -> list[str]:
    """All sentences, each once."""
    return list(dict.fromkeys(words for group in groups for words in group))


def _box(here: Sequence[str], sections: Iterable[Section]) -> Section:
    beside = _once(section.beside for section in sections)
    html = [heading("On this page"), bullets(here) if here else paragraphs("Nothing.")]
    if beside:
        html += [
            heading("In the folder, which is not to be given away"),
            bullets(beside),
        ]
    return Section(KEY, TITLE, [public(*html)])


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."
