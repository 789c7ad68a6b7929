"""`dpdl theory`."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpdl.cli.common import json_option, optional_run_argument, print_json
from dpdl.cli.options import given
from dpdl.errors import InputError
from dpdl.theory.inputs import KNOWN

if TYPE_CHECKING:
    from dpdl.theory import Setting

UNKNOWN = {"smoothness": "L", "xi": "xi", "kappa": "kappa", "gap": "gap"}
"""Option -> the paper's letter."""


def _known_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """One option for each known value.

    Unset ones arrive as None, so that RUN can refuse those that are set.
    """
    for name, default, meaning in reversed(KNOWN):
        command = click.option(
            f"--{name}", type=type(default), default=None, help=f"{meaning} [{default}]"
        )(command)
    return command


@click.command()
@optional_run_argument
@_known_options
@click.option(
    "--smoothness",
    type=float,
    default=1.0,
    show_default=True,
    help="L: the losses are L-smooth",
)
@click.option(
    "--xi",
    type=float,
    default=1.0,
    show_default=True,
    help="deviation of one record's gradient",
)
@click.option(
    "--kappa",
    type=float,
    default=1.0,
    show_default=True,
    help="deviation of the agents' gradients",
)
@click.option(
    "--gap",
    type=float,
    default=math.log(10),
    help="F(x_0) - F* [ln 10, guessing among ten classes]",
)
@json_option()
def theory(run_dir: Path | None, as_json: bool, **options: Any) -> None:
    """Evaluate Theorem 2: its bound, and whether the step size meets its conditions.

    The values come from the finished run RUN, or from the options. Nobody knows L, xi, kappa and
    the gap of a real model: their default values are placeholders to vary.
    """
    from dpdl.theory.inputs import evaluate, of_options, of_run

    unknown = {letter: options.pop(name) for name, letter in UNKNOWN.items()}
    known = given(options)
    if run_dir and known:
        raise InputError(
            f"RUN and --{next(iter(known))} exclude each other: a run knows its own "
            "values."
        )
    inputs = of_run(run_dir) if run_dir else of_options(known)
    setting, facts = evaluate(inputs, unknown)
    if as_json:
        print_json(facts)
    else:
        _show(setting, facts)


def _show(setting: Setting, result: dict[str, Any]) -> None:
    """Conditions, terms, verdict and notes for a person."""
    from rich.console import Console
    from rich.table import Table

    from dpdl.theory import TERMS, conditions

    q, about = setting, result["inputs"]
    console = Console()
    letters = f"N = {q.N}, eta = {q.eta:g}, beta = {q.beta:g}, L = {q.L:g}"
    table = Table(title=f"Theorem 2: {about['graph']}, {letters}")
    table.add_column("condition")
    table.add_column("")
    table.add_column("value", justify="right")
    table.add_column("limit", justify="right")
    for c in conditions(q):
        table.add_row(
            c.name,
            "holds" if c.holds else "does not hold",
            f"{c.value:.4g}",
            f"{c.limit:.4g}",
        )
    console.print(table)
    if result["bound"] is not None:
        terms = Table(title=f"Terms of the bound, {result['bound']:.4g} in all")
        terms.add_column("term")
        terms.add_column("what it stands for")
        terms.add_column("value", justify="right")
        for name, value in sorted(result["terms"].items(), key=lambda item: -item[1]):
            terms.add_row(name, TERMS[name], f"{value:.4g}")
        console.print(terms)
    sentences = [
        result["verdict"],
        _reach(result),
        _rounds(result),
        *(f"Note: {note}" for note in result["notes"]),
    ]
    for sentence in filter(None, sentences):
        console.print(sentence, highlight=False, markup=False)


def _reach(result: dict[str, Any]) -> str:
    largest, eta = result["largest_smoothness"], result["inputs"]["eta"]
    if largest is None:
        return f"Step size {eta:g} breaks an upper condition for every L."
    return f"Step size {eta:g} meets both upper conditions for L up to {largest:.4g}."


def _rounds(result: dict[str, Any]) -> str:
    c = result["corollary"]
    if c is None or c["required"] is None:
        return ""
    return (
        f"Corollary 1, for eta = N epsilon / T, epsilon = {c['epsilon']:g}, asks for "
        f"at least {c['required']} rounds."
    )
