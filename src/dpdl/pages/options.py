"""`docs/options.md`: the options of experiments, and of every algorithm.

`python -m dpdl.pages.options > docs/options.md` makes it from the code. Algorithms of other
packages are listed too, where they are installed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import Field
from typing import Any

from dpdl import algorithms
from dpdl.errors import InputError
from dpdl.experiment.options import options_of
from dpdl.experiment.shared import SHARED
from dpdl.options import WORDS, Check, allowed_names, has_default, kind

COMMAND = "python -m dpdl.pages.options > docs/options.md"
HEAD = "| option | type | default | allowed | searched | meaning |"
PAGE = """# Options

Every option, with its default. The page is made from the code, and a test holds it to the code:

    {command}

[Experiments](experiments.md) says how options are given, and what "by data set", "by graph" and
"by noise rule" stand for. *searched* is the range that [`dpdl tune`](tune.md) draws from.

## Shared options

Every experiment has these, whatever its algorithm.

{shared}

## Options of algorithms

They are the fields of the algorithm's class. An option that an algorithm does not have is refused.

{algorithms}
"""


def page(names: Iterable[str]) -> str:
    """The whole page, with the algorithms of these names."""
    sections = "\n\n".join(_section(name) for name in names)
    shared = _table(SHARED.values())
    return PAGE.format(command=COMMAND, shared=shared, algorithms=sections)


def _section(name: str) -> str:
    """One algorithm; one of another package that cannot be imported says so."""
    title = f"### `{name}`"
    try:
        named, own = algorithms.named(name), options_of(name)
    except InputError as failure:
        return f"{title}\n\n{failure}"
    about = f"*{named.about.rstrip('.')}.*"
    return "\n\n".join([title, " ".join([about, *_notes(named)]), _table(own.values())])


def _notes(named: algorithms.Named) -> list[str]:
    """What the name stands for, and the defaults that were tuned."""
    fixed = [f"`{name}` `{value}`" for name, value in named.fixed.items()]
    notes = [f"It stands for {' and '.join(fixed)}."] if fixed else []
    for tuned in named.tuned:
        values = [f"`{name}` is {value}" for name, value in tuned.values.items()]
        notes.append(f"By default {' and '.join(values)} on {tuned}.")
    return notes


def _table(options: Iterable[Field[Any]]) -> str:
    rows = [_row(f) for f in options]
    if not rows:
        return "It has no options."
    return "\n".join([HEAD, "|---" * (HEAD.count("|") - 1) + "|", *rows])


def _row(f: Field[Any]) -> str:
    search = f.metadata.get("search")
    cells = [
        f"`{f.name}`",
        WORDS[kind(f)].removeprefix("a "),
        _default(f),
        _allowed(f),
        str(search or "-"),
        f.metadata.get("help", "-"),
    ]
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _default(f: Field[Any]) -> str:
    if f.metadata.get("by"):
        return f"by {f.metadata['by']}"
    if not has_default(f):
        return "must be given"
    return "none" if f.default is None else f"`{f.default}`"


def _allowed(f: Field[Any]) -> str:
    if f is SHARED["algorithm"]:
        return "a name below, or module:Class"
    check: Check | None = f.metadata.get("check")
    if check:
        return check.words
    names = [f"`{name}`" for name in allowed_names(f)]
    return ", ".join(filter(None, [*names, f.metadata.get("also")])) or "any"


if __name__ == "__main__":
    print(page(algorithms.names()), end="")
