"""`dpdl theory`."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpdl.errors import InputError

if TYPE_CHECKING:
    from dpdl.theory import Setting

LENET = 44_426  # parameters of LeNet on MNIST
# Name, usual value and meaning of what a run knows. Written out here: the options of an experiment would import torch.
KNOWN: list[tuple[str, str | int | float, str]] = [
    ("graph", "ring", "graph: a name as for `dpdl graph`, or a file"),
    ("agents", 10, "number of agents N; a file knows its own"),
    ("weights", "metropolis", "mixing weights W"),
    ("seed", 0, "seed of a random graph"),
    ("rounds", 200, "rounds T"),
    ("lr", 0.05, "step size eta"),
    ("momentum", 0.7, "momentum beta"),
    ("clip", 2.0, "clipping norm C"),
    ("sigma", 1.0, "noise multiplier"),
    ("batch", 216, "batch size B"),
    ("alpha", 1.5, "calibration weight alpha"),
    ("parameters", LENET, "parameters d of the model; usual: LeNet on MNIST"),
    ("epsilon", 0.5, "privacy budget, for Corollary 1"),
]
ROUNDING = 1e-24  # a smaller rho is a rounded 0, as on a complete graph, and the largest L would hang on it
UNKNOWN = {"smoothness": "L", "xi": "xi", "kappa": "kappa", "gap": "gap"}  # option: the paper's letter


def _known_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """One option for each known value; unset ones arrive as None, so that RUN can refuse those that are set."""
    for name, usual, words in reversed(KNOWN):
        command = click.option(f"--{name}", type=type(usual), default=None, help=f"{words} [{usual}]")(command)
    return command


@click.command()
@click.argument("run_dir", type=click.Path(path_type=Path), metavar="[RUN]", required=False)
@_known_options
@click.option("--smoothness", type=float, default=1.0, show_default=True, help="L: the losses are L-smooth")
@click.option("--xi", type=float, default=1.0, show_default=True, help="deviation of one record's gradient")
@click.option("--kappa", type=float, default=1.0, show_default=True, help="deviation of the agents' gradients")
@click.option("--gap", type=float, default=math.log(10), help="F(x_0) - F* [ln 10, guessing among ten classes]")
@click.option("--json", "as_json", is_flag=True, help="print one JSON object on standard output")
def theory(run_dir: Path | None, as_json: bool, **options: Any) -> None:
    """Evaluate Theorem 2 of the DPDL paper: its bound, and whether the step size meets its conditions.

    The values come from the finished run RUN, or from the options. Nobody knows L, xi, kappa and the gap of a real
    model: their usual values are placeholders to vary.
    """
    from dpdl.theory import Setting, as_dict

    unknown = {letter: options.pop(name) for name, letter in UNKNOWN.items()}
    options = {name: value for name, value in options.items() if value is not None}
    about, known, notes = _from_run(run_dir, options) if run_dir else _from_options(options)
    setting = Setting(**known, **unknown)
    result = as_dict(setting)
    result["inputs"] = {**about, **result["inputs"]}
    result["notes"] += notes
    if as_json:
        click.echo(json.dumps(result, allow_nan=False))
    else:
        _show(setting, result)


Found = tuple[dict[str, Any], dict[str, Any], list[str]]  # what it is about, the known letters, notes


def _from_options(options: dict[str, Any]) -> Found:
    """The values of the options; what is left out has its usual value."""
    from dpdl.graph import GRAPHS

    values = {**{name: usual for name, usual, _ in KNOWN}, **options}
    if values["graph"].partition(":")[0] not in GRAPHS:
        values["agents"] = options.get("agents")  # a file knows its own
    about, letters = _letters(values)
    return about, {**letters, "sigma": values["sigma"], "d": values["parameters"], "epsilon": values["epsilon"]}, []


def _from_run(run_dir: Path, options: dict[str, Any]) -> Found:
    """The values of a finished run. Only the JSON files are read: building its plan would fetch data."""
    if options:
        raise InputError(f"RUN and --{next(iter(options))} exclude each other: a run knows its own values.")
    header, summary = _read(run_dir / "experiment.json"), _read(run_dir / "summary.json")
    try:
        values = header["experiment"]
        if values["alpha"] is None:
            raise InputError(f"Theorem 2 is about dpdl; run {str(run_dir)!r} trained with {values['algorithm']}.")
        about, letters = _letters(values)
        claimed = summary["epsilon"]["claimed_theorem1"]
        letters |= {"sigma": summary["sigma"], "d": summary["parameters"]}
        notes = _departures(values)
    except (KeyError, TypeError) as failure:
        raise InputError(f"Folder {str(run_dir)!r} is damaged or of another version of dpdl ({failure}).") from failure
    if header.get("graph_sha256") != about["graph_sha256"]:
        raise InputError(f"Run {str(run_dir)!r} used another graph than {about['graph']!r}; use options instead.")
    epsilon = claimed if isinstance(claimed, float | int) else None  # the string says that nothing is claimed
    return {"run": str(run_dir), **about}, {**letters, "epsilon": epsilon}, notes


def _letters(values: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What identifies the graph, and the paper's letters."""
    from dpdl.graph import build

    graph = build(values["graph"], values["agents"], values["weights"], values["seed"])
    about = {name: values[name] for name in ("graph", "weights", "seed")}
    about["graph_sha256"] = hashlib.sha256(graph.W.tobytes()).hexdigest()  # as in experiment.json
    letters = {
        "eta": values["lr"],
        "beta": values["momentum"],
        "rho": graph.rho if graph.rho > ROUNDING else 0.0,
        "N": len(graph),
        "T": values["rounds"],
        "C": values["clip"],
        "w_min": graph.w_min,
        "B": values["batch"],
        "alpha": values["alpha"],
    }
    return about, letters


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text("utf-8"))
    except OSError as failure:
        what = "no finished run" if path.name == "summary.json" else "no run"
        raise InputError(f"Folder {str(path.parent)!r} holds {what}: {path.name}: {failure.strerror}.") from failure
    except ValueError as failure:
        raise InputError(f"File {str(path)!r} is damaged: {failure}.") from failure
    if not isinstance(content, dict):
        raise InputError(f"File {str(path)!r} is damaged: it holds no JSON object.")
    return content


def _departures(values: dict[str, Any]) -> list[str]:
    """Where a run is not what the theorem is about."""
    notes = []
    if values["algorithm"] != "dpdl":
        notes.append(f"The theorem is about 'dpdl'; this run trained with {values['algorithm']!r}.")
    if values["lr_decay"] != 1:
        notes.append("The theorem has one step size; this run made it smaller over time. The first one is used.")
    if values["weight_decay"] != 0:
        notes.append("The theorem has no weight decay; this run had some.")
    if values["clip_unit"] != "sample":
        notes.append(f"The theorem clips every sample; the clip unit of this run was {values['clip_unit']!r}.")
    return notes


def _show(setting: Setting, result: dict[str, Any]) -> None:
    """Conditions, terms, verdict and notes for a person."""
    from rich.console import Console
    from rich.table import Table

    from dpdl.theory import TERMS, conditions

    q, about = setting, result["inputs"]
    console = Console()
    table = Table(title=f"Theorem 2: {about['graph']}, N = {q.N}, eta = {q.eta:g}, beta = {q.beta:g}, L = {q.L:g}")
    table.add_column("condition")
    table.add_column("")
    table.add_column("value", justify="right")
    table.add_column("limit", justify="right")
    for c in conditions(q):
        table.add_row(c.name, "holds" if c.holds else "does not hold", f"{c.value:.4g}", f"{c.limit:.4g}")
    console.print(table)
    if result["bound"] is not None:
        terms = Table(title=f"Terms of the bound, {result['bound']:.4g} in all")
        terms.add_column("term")
        terms.add_column("what it stands for")
        terms.add_column("value", justify="right")
        for name, value in sorted(result["terms"].items(), key=lambda item: -item[1]):
            terms.add_row(name, TERMS[name], f"{value:.4g}")
        console.print(terms)
    sentences = [result["verdict"], _reach(result), _rounds(result), *(f"Note: {note}" for note in result["notes"])]
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
        f"Corollary 1, for eta = N epsilon / T, epsilon = {c['epsilon']:g}, asks for at least {c['required']} rounds."
    )
