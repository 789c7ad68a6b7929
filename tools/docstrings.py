"""Which names of the reference have no docstring: the build stops at the first one."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import griffe

SOURCE = Path(__file__).parents[1] / "src"
DIRECTIVE = re.compile(r"^::: ([\w.]+)", re.MULTILINE)


def undocumented(markdown: str) -> list[str]:
    """The public names on a page of the reference that say nothing about themselves."""
    names = DIRECTIVE.findall(markdown)
    return [path for name in names for path in _silent(_target(_package()[name[5:]]))]


@cache
def _package() -> griffe.Module:
    """The package as it is written; nothing of it is run."""
    found = griffe.load("dpdl", search_paths=[SOURCE], allow_inspection=False)
    assert isinstance(found, griffe.Module)
    return found


def _target(found: griffe.Object | griffe.Alias) -> griffe.Object:
    return found.final_target if isinstance(found, griffe.Alias) else found


def _silent(found: griffe.Object) -> list[str]:
    """The object, and those of its members that are shown, without a docstring."""
    silent = [] if found.has_docstring else [found.path]
    if found.is_function or found.is_attribute:
        return silent
    members = [m for m in found.members.values() if _is_shown(found, m)]
    return silent + [path for member in members for path in _silent(_target(member))]


def _is_shown(owner: griffe.Object, member: griffe.Object | griffe.Alias) -> bool:
    """Functions, classes and properties; those of other modules only if `__all__` has them."""
    if member.name.startswith("_") or (member.is_alias and not member.is_exported):
        return False
    if member.is_module:
        return False
    return member.is_function or member.is_class or "property" in member.labels
