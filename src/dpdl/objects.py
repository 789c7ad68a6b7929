"""Objects that are imported by name: the user's own code, and what a package offers on demand."""

from __future__ import annotations

import difflib
import importlib
import os
import sys
from collections.abc import Callable, Mapping
from functools import reduce
from pathlib import Path
from typing import Any

from dpdl.errors import InputError


def load_object(spec: str, kind: str) -> Any:
    """The callable that `spec` names, for instance `mymodels:Net` or `package.data:load`.

    `kind` names its purpose in messages ("dataset", "model"). The current directory is put on
    Python's module path and stays there: the user's code may import its neighbours later.
    """
    module_name, _, attribute = spec.partition(":")
    if not all(
        part.isidentifier() for part in [*module_name.split("."), *attribute.split(".")]
    ):
        raise InputError(
            f"The {kind} {spec!r} is not of the form module:name, for instance mycode:load."
        )
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    importlib.invalidate_caches()
    try:
        module = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:
        raise InputError(
            f"The {kind} {spec!r} cannot be imported: {cause(error)}."
        ) from error
    try:
        found = reduce(getattr, attribute.split("."), module)
    except AttributeError as error:
        public = [name for name in vars(module) if not name.startswith("_")]
        near = difflib.get_close_matches(attribute, public, n=3) or public[:8]
        raise InputError(
            f"The {kind} {spec!r} does not exist: {module_name} has no {attribute}, "
            f"but for instance {', '.join(near) or 'no names at all'}."
        ) from error
    if not callable(found):
        raise InputError(
            f"The {kind} {spec!r} must be a function or a class, not a {type(found).__name__}."
        )
    return found


def place_of(name: str, value: object) -> Path:
    """Where a file or folder is that Python code asked for under this name."""
    if not isinstance(value, str | os.PathLike):
        kind = type(value).__name__
        raise InputError(f"{name} must be a path, not of type {kind}.")
    return Path(value)


def cause(error: BaseException) -> str:
    """The kind and the first line of an error, for a message of one sentence."""
    text = str(error).strip().split("\n")[0].rstrip(".")
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def on_demand(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """`__getattr__` for a package: each name is imported from its module when it is first used."""

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{package}.{homes[name]}"), name)

    return get
