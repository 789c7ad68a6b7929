"""Write `src/dpdl/experiment/typed_options.py` from the options that experiments and algorithms declare.

    python tools/typed_options.py

Type checkers and editors read that file: which names an option allows, and what it means. A test holds it to the code.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import Field
from pathlib import Path

import dpdl
from dpdl import algorithms
from dpdl.experiment.options import options_of
from dpdl.experiment.shared import SHARED
from dpdl.options import Value, allowed_names, has_default, kind, may_be_none

FILE = Path(dpdl.__file__).parent / "experiment" / "typed_options.py"
HEAD = '''"""The options of an experiment, for type checkers and editors: their types, names and meaning.

Made by `python tools/typed_options.py` from the options that are declared; do not edit it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypedDict

from dpdl.options import Value

if TYPE_CHECKING:
    from dpdl.algorithms import Algorithm
'''
CLASS = '''class ExperimentOptions(TypedDict, total=False):
    """What `Experiment(...)` takes: the shared options, then those of algorithms."""
'''
TYPES = {str: "str", int: "int", float: "float", bool: "bool", tuple: "Sequence[str]"}
WIDTH = 88


def page() -> str:
    """The whole file."""
    own = of_algorithms()
    named = {name: closed(fields) for name, fields in {**shared(), **own}.items()}
    choices = [alias(name, names) for name, names in named.items() if names]
    keys = [
        key(name, list(by.values()), documented(by)) for name, by in shared().items()
    ]
    keys += [key(name, list(by.values()), documented(by)) for name, by in own.items()]
    keys.append(
        '    options: Mapping[str, Value]\n    """options of the algorithm, together"""\n'
    )
    return "\n".join([HEAD, *choices, "", CLASS, *keys]).rstrip("\n") + "\n"


def shared() -> dict[str, dict[str, Field[Value]]]:
    """The shared options, each under no algorithm's name."""
    return {name: {"": f} for name, f in SHARED.items()}


def of_algorithms() -> dict[str, dict[str, Field[Value]]]:
    """The options of our own algorithms: name -> algorithm -> field."""
    found: dict[str, dict[str, Field[Value]]] = {}
    for algorithm in sorted(algorithms.NAMES):
        for name, f in options_of(algorithm).items():
            found.setdefault(name, {})[algorithm] = f
    return dict(sorted(found.items()))


def closed(by: Mapping[str, Field[Value]]) -> list[str]:
    """The names that an option allows, of whichever algorithm; only ours, not those of other packages."""
    names = {name for f in by.values() for name in allowed_names(f)}
    if SHARED["algorithm"] in by.values():
        names = set(algorithms.NAMES)
    return sorted(names - {"neighbours:K"})


def alias(option: str, names: Iterable[str]) -> str:
    """A `Literal` of the names."""
    listed = "".join(f'    "{name}",\n' for name in names)
    return f"{title(option)} = Literal[\n{listed}]"


def title(option: str) -> str:
    """The name of the type of an option."""
    return "".join(part.title() for part in option.split("_")) + "Name"


def key(name: str, fields: list[Field[Value]], doc: str) -> str:
    """One key, with its type and what it means."""
    return f"    {name}: {' | '.join(types(name, fields))}\n{doc}\n"


def types(name: str, fields: list[Field[Value]]) -> list[str]:
    """The types of its values."""
    if closed({str(k): f for k, f in enumerate(fields)}):
        found = [title(name)]
        if any(f.metadata.get("also") for f in fields):
            found.append("str")
    else:
        found = list(dict.fromkeys(TYPES[kind(f)] for f in fields))
    if name == "algorithm":
        found.append("Algorithm")
    return [*found, "None"] if any(map(may_be_none, fields)) else found


def documented(by: Mapping[str, Field[Value]]) -> str:
    """What the option means, for every algorithm that has it, and its default."""
    meanings: dict[str, list[str]] = {}
    for algorithm, f in by.items():
        meanings.setdefault(described(f), []).append(algorithm)
    texts = [
        text if names == [""] else f"{whose(names)}: {text}"
        for text, names in meanings.items()
    ]
    whole = '"""' + ". ".join(texts) + '"""'
    lines = textwrap.wrap(whole, WIDTH - 4, break_on_hyphens=False)
    return "\n".join(f"    {line}" for line in lines)


def whose(names: list[str]) -> str:
    """The algorithms of these names."""
    return "all" if names == sorted(algorithms.NAMES) else ", ".join(names)


def described(f: Field[Value]) -> str:
    """The help, what is allowed besides names, and the default."""
    also = f.metadata.get("also")
    default = "must be given" if not has_default(f) else f"default {f.default!r}"
    if f.metadata.get("by"):
        default = f"default by {f.metadata['by']}"
    parts = (f.metadata["help"], f"({also})" if also else "", f"[{default}]")
    return " ".join(part for part in parts if part)


if __name__ == "__main__":
    FILE.write_text(page(), "utf-8")
