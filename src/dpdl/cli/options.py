"""Options of the command line, made from the fields of an experiment: one definition for all."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import Field, fields
from typing import Any

import click

from dpdl.run.experiment import Experiment
from dpdl.run.options import kind
from dpdl.run.presets import PRESETS


class NamesOption(click.Option):
    """An option whose help lists the allowed names, looked up only when help is shown."""

    def __init__(self, *args: Any, field: Field[Any], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.field = field

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Help, allowed names, usual value."""
        names, also = self.field.metadata["names"], self.field.metadata["also"]
        record = super().get_help_record(ctx)
        if record is None:
            return None
        words = [record[1]]
        if names:
            words.append(f"({', '.join(names())}{', ' + also if also else ''})")
        default = self.field.default
        words.append(
            "[usual value: by data set and graph]" if _by_case(self.field) else f"[{default}]" * (default is not None)
        )
        return record[0], " ".join(filter(None, words))


def _by_case(f: Field[Any]) -> bool:
    return f.default is None and f.name not in ("sigma", "budget", "records")


def experiment_options(
    only: Iterable[str] | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a command with the options of an experiment (or some of them); unset ones arrive as None."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for f in reversed(fields(Experiment)):
            if only is None or f.name in only:
                flag = "--" + f.name.replace("_", "-")
                command = click.option(
                    flag, f.name, cls=NamesOption, field=f, type=kind(f), default=None, help=f.metadata["help"]
                )(command)
        return command

    return decorate


def preset_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--preset NAME`."""
    return click.option("--preset", default=None, help=f"named set of options ({', '.join(PRESETS)})")(command)


def given(options: dict[str, Any]) -> dict[str, Any]:
    """The options that were set."""
    return {name: value for name, value in options.items() if value is not None}
