"""The order in which a page tells what a folder holds: results, attacks, then settings."""

from __future__ import annotations

from collections.abc import Sequence

from dpdl.pages.page import Section

TITLE = "Settings and versions"


def settings_last(sections: Sequence[Section]) -> list[Section]:
    """The sections of one folder, of which settings and versions come after all others.

    A section that stands alone has them at its own end already, and stays as it is.
    """
    if len(sections) < 2:
        return list(sections)
    first = [_with(section, False) for section in sections]
    settings = [_with(section, True) for section in sections]
    last = [
        Section(f"settings-{one.key}", TITLE, one.parts, appendix=True)
        for one in settings
        if one.parts
    ]
    return [*first, *last]


def _with(section: Section, setting: bool) -> Section:
    """The parts of a section that are settings, or those that are not."""
    kept = [part for part in section.parts if part.setting == setting]
    return section._replace(parts=kept)
