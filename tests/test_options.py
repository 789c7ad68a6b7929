"""An option is declared once, and means the same in Python, in TOML and on a command line."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Optional

import pytest

from dpdl.errors import InputError
from dpdl.options import (
    ABOVE_ZERO,
    AT_LEAST_ONE,
    AT_LEAST_ZERO,
    DECAY,
    MOMENTUM,
    SEED,
    SHARE,
    Check,
    Range,
    Typed,
    allowed_names,
    annotation,
    checked,
    has_default,
    is_option,
    kind,
    may_be_none,
    option,
)


@dataclass
class Declared:
    """Options of every type, with annotations that are texts."""

    size: int
    share: float = option(0.5, "a share", check=SHARE)
    name: str = option("a", "a name", names=("a", "b"))
    path: str = option("x", "a name or a path", names=lambda: ["x"], also="or a path")
    fast: bool = option(False, "whether")
    sites: tuple[str, ...] = option((), "several")
    limit: float | None = option(None, "a number or nothing")
    old: Optional[int] = None  # noqa: UP045
    table: tuple[int, ...] = ()


F = {f.name: f for f in fields(Declared)}


def test_the_type_of_an_option_is_that_of_its_field() -> None:
    kinds = {name: kind(f) for name, f in F.items() if is_option(f)}
    assert kinds == {
        "size": int,
        "share": float,
        "name": str,
        "path": str,
        "fast": bool,
        "sites": tuple,
        "limit": float,
        "old": int,
    }
    assert [name for name, f in F.items() if may_be_none(f)] == ["limit", "old"]
    assert [name for name, f in F.items() if not has_default(f)] == ["size"]
    assert annotation(F["old"]) == "int | None"


def test_annotations_may_be_types_and_not_texts() -> None:
    space: dict = {}
    code = "from dataclasses import dataclass\n@dataclass\nclass C:\n"
    code += " a: int = 1\n b: float | None = None\n c: tuple[str, ...] = ()\n"
    exec(compile(code, "typed", "exec", dont_inherit=True), space)
    found = {f.name: (kind(f), may_be_none(f)) for f in fields(space["C"])}
    assert found == {"a": (int, False), "b": (float, True), "c": (tuple, False)}


@pytest.mark.parametrize(
    ("name", "given", "value"),
    [
        ("size", 3, 3),
        ("size", Typed("3"), 3),
        ("share", 1, 1.0),
        ("share", Typed("0.25"), 0.25),
        ("name", "b", "b"),
        ("path", "./anything", "./anything"),
        ("fast", True, True),
        ("fast", Typed("Yes"), True),
        ("fast", Typed("false"), False),
        ("sites", ["a", "b"], ("a", "b")),
        ("sites", ("a",), ("a",)),
        ("sites", "a, b,c", ("a", "b", "c")),
        ("sites", Typed("a,b"), ("a", "b")),
        ("sites", [], ()),
        ("limit", None, None),
        ("limit", 2, 2.0),
    ],
)
def test_a_value_gets_the_type_of_its_option(name, given, value) -> None:
    found = checked(F[name], given)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("size", None, "size must be given."),
        ("size", 3.0, "size must be a whole number, not 3.0."),
        ("size", "3", "size must be a whole number, not '3'."),
        ("size", True, "size must be a whole number, not True."),
        ("size", Typed("3.5"), "size must be a whole number, not '3.5'."),
        ("share", "half", "share must be a number, not 'half'."),
        ("share", 1.5, "share must be at least 0 and at most 1, not 1.5."),
        ("share", math.nan, "share must be at least 0 and at most 1, not nan."),
        ("share", None, "share must be given."),
        ("name", "c", "Unknown name 'c'. Allowed: a, b."),
        ("name", 1, "name must be a text, not 1."),
        ("fast", 1, "fast must be true or false, not 1."),
        ("fast", Typed("2"), "fast must be true or false, not '2'."),
        ("sites", [1, "a"], "sites must be a list of texts, not [1, 'a']."),
        ("sites", (1,), "sites must be a list of texts, not (1,)."),
        ("sites", 5, "sites must be a list of texts, not 5."),
    ],
)
def test_another_value_is_refused_with_what_is_allowed(name, given, words) -> None:
    with pytest.raises(InputError) as caught:
        checked(F[name], given)
    assert str(caught.value) == words


@pytest.mark.parametrize(
    ("check", "fine", "wrong"),
    [
        (ABOVE_ZERO, [1e-300, 5], [0, -1, math.inf, math.nan]),
        (AT_LEAST_ZERO, [0, 5], [-1e-300, math.inf, math.nan]),
        (AT_LEAST_ONE, [1, 9], [0, -1]),
        (SEED, [0, 9], [-1]),
        (MOMENTUM, [0, 0.999], [1, -0.1, math.nan]),
        (SHARE, [0, 1], [-0.1, 1.1, math.nan]),
        (DECAY, [1e-9, 1], [0, 1.1, math.nan]),
    ],
    ids=lambda one: one.words if isinstance(one, Check) else "",
)
def test_checks_hold_where_their_words_say(check: Check, fine, wrong) -> None:
    assert all(check.holds(value) for value in fine)
    assert not any(check.holds(value) for value in wrong)


def test_names_may_be_listed_by_a_function() -> None:
    assert allowed_names(F["path"]) == ["x"]
    assert allowed_names(F["name"]) == ["a", "b"]
    assert allowed_names(F["size"]) == []


def test_a_range_is_printed_as_a_person_writes_it() -> None:
    assert str(Range(0.01, 1, log=True)) == "0.01 to 1, by orders of magnitude"
    assert str(Range(0, 4)) == "0 to 4"
