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
    from dpdl.theory import Explained, Letters

UNKNOWN = ("smoothness", "xi", "kappa", "gap")
"""Options for the letters that nobody knows: L, xi, kappa and the gap."""


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
    from dpdl.theory.inputs import UnknownLetters, evaluate, of_options, of_run

    unknown = UnknownLetters(*(options.pop(name) for name in UNKNOWN))
    known = given(options)
    if run_dir and known:
        raise InputError(
            f"RUN and --{next(iter(known))} exclude each other: a run knows its own "
            "values."
        )
    inputs = of_run(run_dir) if run_dir else of_options(known)
    letters = inputs.letters(unknown)
    explained = evaluate(inputs, letters)
    if as_json:
        print_json(explained)
    else:
        _show(letters, explained)


def _show(letters: Letters, result: Explained) -> None:
    """Conditions, terms, verdict and notes for a person."""
    from dpdl.cli.tables import FittingTable
    from dpdl.terminal import Console
    from dpdl.theory import TERMS

    q, console = letters, Console()
    values = f"N = {q.N}, eta = {q.eta:g}, beta = {q.beta:g}, L = {q.L:g}"
    title = f"Theorem 2: {result.inputs.graph}, {values}"
    table = FittingTable(title, ["condition", "", "value", "limit"], keys=2)
    for c in result.conditions:
        table.add(
            c.name,
            "holds" if c.holds else "does not hold",
            f"{c.value:.4g}",
            f"{c.limit:.4g}",
        )
    table.show(console)
    if result.bound is not None:
        in_all = f"Terms of the bound, {result.bound:.4g} in all"
        terms = FittingTable(in_all, ["term", "what it stands for", "value"], keys=2)
        known = {
            name: value for name, value in result.terms.items() if value is not None
        }
        for name, value in sorted(known.items(), key=lambda item: -item[1]):
            terms.add(name, TERMS[name], f"{value:.4g}")
        terms.show(console)
    sentences = [
        result.verdict,
        _reach(q.eta, result.largest_smoothness),
        _rounds(result),
        *(f"Note: {note}" for note in result.notes),
    ]
    for sentence in filter(None, sentences):
        console.print(sentence, highlight=False, markup=False)


def _reach(eta: float, largest: float | None) -> str:
    if largest is None:
        return f"Step size {eta:g} breaks an upper condition for every L."
    return f"Step size {eta:g} meets both upper conditions for L up to {largest:.4g}."


def _rounds(result: Explained) -> str:
    c = result.corollary
    if c is None or c.required is None:
        return ""
    return (
        f"Corollary 1, for eta = N epsilon / T, epsilon = {c.epsilon:g}, asks for "
        f"at least {c.required} rounds."
    )
