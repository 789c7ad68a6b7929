"""Records: frozen dataclasses that are written as JSON and read again, field by field.

The type hints of the fields are the schema. A field may be a bool, int, float, str, a `Literal`,
another record, a class with `to_json` and `from_json` of its own (such as `Epsilon`), `Json` for
whatever there is, a `tuple[T, ...]`, a `Mapping[str, T]`, or one of these or None.

    @final
    @dataclass(frozen=True)
    class Point(Record):
        x: float
        kind: str = key("kind-of")                  # under another key in JSON
        label: str | None = absent()                # None: no key at all
        more: Mapping[str, float] = others()        # all keys that no field has
"""

from __future__ import annotations

import math
import types
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Literal,
    NamedTuple,
    Self,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from dpdl.errors import InputError
from dpdl.text import shown

if TYPE_CHECKING:
    Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
else:
    Json = Any
"""What `json.loads` returns."""

JsonObject = dict[str, Json]
FORMAT = "format"
PLAIN = (str, int, float, bool)
"""Types of values that JSON has as they are."""
LARGEST = 2**63 - 1
"""The largest whole number, below zero too, that a field of a file may have."""


def key(name: str, **options: Any) -> Any:
    """A field that has another name in JSON; `options` are those of `dataclasses.field`."""
    return field(metadata={"key": name}, **options)


def absent(name: str | None = None) -> Any:
    """A field that is None by default, and then has no key in JSON."""
    metadata = {"absent": True} | ({"key": name} if name else {})
    return field(default=None, metadata=metadata)


def others() -> Any:
    """A field of type `Mapping[str, T]` that holds all keys which no other field has."""
    return field(default_factory=dict, metadata={"others": True})


@dataclass(frozen=True)
class Record:
    """What is written to a file, or printed as JSON, and can be read again.

    Where a class has a `FORMAT`, its number is written as `format`. A file without one is of
    format 1; one of a later format is refused.
    """

    FORMAT: ClassVar[int | None] = None

    def to_json(self) -> JsonObject:
        """As `json.dumps` takes it."""
        kind: Any = type(self)
        found: JsonObject = {} if self.FORMAT is None else {FORMAT: self.FORMAT}
        for f in _layout(kind):
            value = getattr(self, f.name)
            if f.others:
                found |= {name: written(one) for name, one in value.items()}
            elif value is not None or not f.absent:
                found[f.key] = written(value)
        return found

    @classmethod
    def from_json(cls, content: Json, where: str = "") -> Self:
        """The record that was written; `where` says in errors what is read, for instance a path."""
        if not isinstance(content, dict):
            raise _wrong(where, "an object", content)
        _check_format(cls.FORMAT, content, where)
        kind: Any = cls
        hints = _hints(kind)
        values = {}
        for f in _layout(kind):
            if f.others:
                values[f.name] = _read(hints[f.name], _unknown(cls, content), where)
            elif f.key in content:
                at = f"{where}.{f.key}" if where else f.key
                values[f.name] = _read(hints[f.name], content[f.key], at)
            elif f.needed:
                raise InputError(f"{where or cls.__name__} has no {f.key!r}.")
        return cls(**values)


def written(value: Any) -> Json:
    """A value of a field as `json.dumps` takes it."""
    if value is None or type(value) in PLAIN:
        as_is: Json = value
        return as_is
    if hasattr(value, "to_json"):
        found: Json = value.to_json()
        return found
    if isinstance(value, Mapping):
        return {name: written(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [written(one) for one in value]
    plain: Json = value
    return plain


class _Field(NamedTuple):
    """What reading and writing need to know of a field."""

    name: str
    key: str  # in JSON
    absent: bool  # None: no key
    others: bool  # holds the keys that no other field has
    needed: bool  # has no default


@cache
def _layout(cls: Any) -> tuple[_Field, ...]:
    """The fields of a class: they are the same for all its records, and asked for at each."""
    return tuple(
        _Field(
            f.name,
            f.metadata.get("key", f.name),
            bool(f.metadata.get("absent")),
            bool(f.metadata.get("others")),
            f.default is MISSING and f.default_factory is MISSING,
        )
        for f in fields(cls)
    )


@cache
def _hints(cls: Any) -> dict[str, Any]:
    return get_type_hints(cls)


def _unknown(cls: type[Record], content: JsonObject) -> JsonObject:
    kind: Any = cls
    known = {f.key for f in _layout(kind) if not f.others} | {FORMAT}
    return {name: value for name, value in content.items() if name not in known}


def _check_format(known: int | None, content: JsonObject, where: str) -> None:
    found = content.get(FORMAT, 1)
    if known is not None and found not in range(1, known + 1):
        raise InputError(
            f"{where or 'A record'} is of format {shown(found)}; this version of dpdl reads "
            f"formats up to {known}."
        )


@cache
def _parts_of(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    return get_origin(hint), get_args(hint)


def _read(hint: Any, value: Json, where: str) -> Any:
    """A value as a field of this type has it."""
    if hint is Any:
        return value
    origin, inner = _parts_of(hint)
    if origin in (Union, types.UnionType):
        return _read_union(inner, value, where)
    if origin is Literal:
        if value not in inner:
            raise _wrong(where, " or ".join(map(repr, inner)), value)
        return value
    if origin is tuple:
        if not isinstance(value, list | tuple):
            raise _wrong(where, "a list", value)
        return _read_items(inner, value, where)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        if not isinstance(value, dict):
            raise _wrong(where, "an object", value)
        return {
            name: _read(inner[1], one, f"{where}.{name}") for name, one in value.items()
        }
    if hasattr(hint, "from_json"):
        return hint.from_json(value, where)
    return _read_plain(hint, value, where)


def _read_union(inner: tuple[Any, ...], value: Json, where: str) -> Any:
    if value is None and type(None) in inner:
        return None
    wanted = [one for one in inner if one is not type(None)]
    for one in wanted[:-1]:
        try:
            return _read(one, value, where)
        except InputError:
            continue
    return _read(wanted[-1], value, where)


def _read_items(inner: tuple[Any, ...], value: Any, where: str) -> tuple[Any, ...]:
    if len(inner) == 2 and inner[1] is Ellipsis:
        if inner[0] is float and _are_numbers(value):
            return tuple(value)
        inner = (inner[0],) * len(value)
    if len(value) != len(inner):
        raise _wrong(where, f"a list of {len(inner)}", value)
    pairs = enumerate(zip(inner, value, strict=True))
    return tuple(_read(hint, one, f"{where}[{k}]") for k, (hint, one) in pairs)


def _are_numbers(value: Any) -> bool:
    """Whether all are finite floats, which need no look at each: a run has them by the million."""
    return {*map(type, value)} == {float} and all(map(math.isfinite, value))


WORDS = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    type(None): "null",
}


def _read_plain(hint: Any, value: Json, where: str) -> Any:
    if hint is float and type(value) in (int, float):
        return number(value, where)
    if type(value) is not hint:
        raise _wrong(where, WORDS.get(hint, str(hint)), value)
    if hint is int and isinstance(value, int) and abs(value) > LARGEST:
        raise _wrong(where, f"{WORDS[int]} of at most {LARGEST}", value)
    return value


def number(value: Json, where: str = "") -> float:
    """A number that is finite, or infinity."""
    try:
        found = float(value) if isinstance(value, int | float) else math.nan
    except OverflowError:
        found = math.nan
    if math.isnan(found) or isinstance(value, bool):
        raise _wrong(where, WORDS[float], value)
    return found


def _wrong(where: str, wanted: str, value: Json) -> InputError:
    return InputError(f"{where or 'A record'} must be {wanted}, not {shown(value)}.")
