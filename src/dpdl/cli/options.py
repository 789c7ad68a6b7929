"""Options of the command line, made from the fields of experiments and algorithms.

Algorithms, and numpy with them, are imported only by commands that have their options.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import Field
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from dpdl.cli.completion import among, values_of, values_of_any
from dpdl.errors import InputError
from dpdl.experiment.presets import PRESETS
from dpdl.experiment.shared import SHARED
from dpdl.options import Typed, Value, allowed_names, has_default, kind

CHOSEN, OWN = "dpdl.chosen", "dpdl.options"
"""Where a context keeps the algorithms that a command line names, and the options of algorithms."""
METAVARS = {
    str: "TEXT",
    int: "INTEGER",
    float: "FLOAT",
    bool: "BOOLEAN",
    tuple: "TEXT,...",
}


class SharedOption(click.Option):
    """A shared option; its help lists the allowed names, looked up only when it is shown."""

    def __init__(self, *args: Any, field: Field[Value], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.field = field

    def shell_complete(
        self, ctx: click.Context, incomplete: str
    ) -> list[CompletionItem]:
        """The allowed names."""
        return values_of(self.field, incomplete)

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Help, allowed names, default."""
        record = super().get_help_record(ctx)
        if record is None:
            return None
        return record[0], _described(self.field)


class AlgorithmOption(click.Option):
    """An option that some algorithms have; the chosen algorithm decides what its value means."""

    def __init__(self, name: str, having: Mapping[str, Field[Value]]) -> None:
        kinds = dict.fromkeys(METAVARS[kind(f)] for f in having.values())
        flag = "--" + name.replace("_", "-")
        super().__init__(
            [flag, name],
            default=None,
            metavar="|".join(kinds),
            type=click.UNPROCESSED,
            callback=lambda _, __, text: None if text is None else Typed(text),
        )
        self.having = having

    def shell_complete(
        self, ctx: click.Context, incomplete: str
    ) -> list[CompletionItem]:
        """The names that the named algorithms allow, or all that have the option."""
        chosen = ctx.meta.get(CHOSEN, ())
        known = [self.having[name] for name in chosen if name in self.having]
        return values_of_any(known or self.having.values(), incomplete)

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        """Its flag, and what it means for the named algorithms, or for all that have it."""
        chosen = ctx.meta.get(CHOSEN, ())
        known = {name: self.having[name] for name in chosen if name in self.having}
        shown = known or self.having
        meanings: dict[str, list[str]] = {}
        for algorithm, f in shown.items():
            meanings.setdefault(_described(f), []).append(algorithm)
        texts = [
            text if len(chosen) == 1 else f"{_list(algorithms)}: {text}"
            for text, algorithms in meanings.items()
        ]
        return f"--{self.name} {self.metavar}".replace("_", "-"), "; ".join(texts)


def _list(algorithms: list[str]) -> str:
    from dpdl.algorithms import usable

    return "all" if algorithms == usable() else ", ".join(algorithms)


def _described(f: Field[Value]) -> str:
    """Help, allowed names, default."""
    names = allowed_names(f)
    allowed = ""
    if names:
        also = f.metadata.get("also")
        allowed = f"({', '.join([*names, also] if also else names)})"
    parts = (f.metadata.get("help"), allowed, default_of(f))
    return " ".join(part for part in parts if part)


def default_of(f: Field[Value]) -> str:
    """The default in brackets; nothing where there is none, and nothing is needed."""
    if f.metadata.get("by"):
        return f"[by {f.metadata['by']}]"
    if not has_default(f):
        return "[must be given]"
    return "" if f.default is None else f"[{f.default}]"


class ExperimentCommand(click.Command):
    """A command that has the options of all installed algorithms, and of those that it names.

    An option whose flag the command has itself is not offered; a file can set it.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Look for the names of algorithms first: they decide which options there are."""
        ctx.meta[CHOSEN] = _named(args)
        return super().parse_args(ctx, args)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Its own, then those of algorithms."""
        own = super().get_params(ctx)
        if OWN not in ctx.meta:
            ctx.meta[OWN] = list(_of_algorithms(ctx.meta.get(CHOSEN, ()), own))
        return [*own, *ctx.meta[OWN]]

    def format_options(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """First the command's and the shared options, then those of algorithms."""
        from dpdl.experiment.options import options_of

        chosen = ctx.meta.get(CHOSEN, ())
        known = {name for algorithm in chosen for name in options_of(algorithm)}
        shared: list[tuple[str, str]] = []
        own: list[tuple[str, str]] = []
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is None:
                continue
            if not isinstance(param, AlgorithmOption):
                shared.append(record)
            elif not chosen or param.name in known:
                own.append(record)
        with formatter.section("Options"):
            formatter.write_dl(shared)
        if own:
            whose = ", ".join(chosen) or "algorithms"
            with formatter.section(f"Options of {whose}"):
                formatter.write_dl(own)


def _named(args: list[str]) -> list[str]:
    """The algorithms that a command line names, by a flag or in a file.

    What is wrong with the file is left to the command, which reads it too.
    """
    from dpdl.experiment.experiment import read_toml

    found = _value(args, "--algorithm") or _value(args, "--algorithms")
    for argument in args:
        if not found and argument.endswith(".toml"):
            with suppress(InputError):
                found = str(read_toml(Path(argument)).get("algorithm", ""))
    return [name.strip() for name in found.split(",") if name.strip()]


def _value(args: list[str], flag: str) -> str:
    """The value of a flag, where it was given last."""
    found = ""
    for argument, after in pairwise([*args, ""]):
        if argument == flag:
            found = after
        elif argument.startswith(f"{flag}="):
            found = argument.removeprefix(f"{flag}=")
    return found


def _of_algorithms(
    chosen: Iterable[str], own: Iterable[click.Parameter]
) -> Iterator[AlgorithmOption]:
    """The options of installed algorithms, and of chosen ones of the form `module:Class`."""
    from dpdl.experiment.options import installed, options_of

    found = installed()
    for algorithm in chosen:
        if ":" in algorithm:
            for name, f in options_of(algorithm).items():
                found.setdefault(name, {})[algorithm] = f
    taken = {name for param in own for name in (param.name, *param.opts)}
    for name, having in found.items():
        made = AlgorithmOption(name, having)
        if taken.isdisjoint({name, *made.opts}):
            yield made


def experiment_options(
    only: Iterable[str] | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a command with the shared options (or some of them); unset ones arrive as None."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for name, f in reversed(list(SHARED.items())):
            if only is None or name in only:
                flag = "--" + name.replace("_", "-")
                command = click.option(
                    flag,
                    name,
                    cls=SharedOption,
                    field=f,
                    metavar=METAVARS[kind(f)],
                    type=str if kind(f) is tuple else kind(f),
                    default=None,
                    help=f.metadata["help"],
                )(command)
        return command

    return decorate


def preset_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--preset NAME`."""
    return click.option(
        "--preset",
        default=None,
        shell_complete=among(PRESETS),
        help=f"named set of options ({', '.join(PRESETS)})",
    )(command)


def given(options: Mapping[str, Value]) -> dict[str, Value]:
    """The options that were set; click has None for the others."""
    return {name: value for name, value in options.items() if value is not None}
