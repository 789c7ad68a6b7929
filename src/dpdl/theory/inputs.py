"""What Theorem 2 is asked about: from options, or from a finished run. Neither needs torch."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from dpdl.algorithms import Algorithm, make
from dpdl.errors import InputError
from dpdl.folder.run_folder import RunFolder
from dpdl.folder.run_graph import graph_hash
from dpdl.graph import GRAPHS, build
from dpdl.theory.explained import as_dict
from dpdl.theory.formulas import Setting

LENET = 44_426
"""Parameters of LeNet on MNIST."""


class Known(NamedTuple):
    """An option whose value a run knows."""

    name: str
    default: str | int | float
    meaning: str


KNOWN = (
    Known("graph", "ring", "graph: a name as for `dpdl graph`, or a file"),
    Known("agents", 10, "number of agents N; a file knows its own"),
    Known("weights", "metropolis", "mixing weights W"),
    Known("seed", 0, "seed of a random graph"),
    Known("rounds", 200, "rounds T"),
    Known("lr", 0.05, "step size eta"),
    Known("momentum", 0.7, "momentum beta"),
    Known("clip", 2.0, "clipping norm C"),
    Known("sigma", 1.0, "noise multiplier"),
    Known("batch", 216, "batch size B"),
    Known("alpha", 1.5, "calibration weight alpha"),
    Known("parameters", LENET, "parameters d of the model; default: LeNet on MNIST"),
    Known("epsilon", 0.5, "privacy budget, for Corollary 1"),
)
ROUNDING = 1e-24
"""A smaller rho is a rounded 0, as on a complete graph, and the largest L would hang on it."""


class Inputs(NamedTuple):
    """What the theorem is asked about."""

    about: dict[str, Any]  # what identifies the graph, and the run if there is one
    letters: dict[str, Any]  # the paper's letters whose values are known
    notes: list[str]  # where a run is not what the theorem is about


class Evaluated(NamedTuple):
    """The setting, and everything about it as JSON values."""

    setting: Setting
    facts: dict[str, Any]


def evaluate(inputs: Inputs, unknown: Mapping[str, Any]) -> Evaluated:
    """What the theorem says; `unknown` are the letters that nobody knows: L, xi, kappa, gap."""
    setting = Setting(**inputs.letters, **unknown)
    facts = as_dict(setting)
    facts["inputs"] = {**inputs.about, **facts["inputs"]}
    facts["notes"] += inputs.notes
    return Evaluated(setting, facts)


def of_options(options: Mapping[str, Any]) -> Inputs:
    """The values of the options; what is left out has its default value."""
    values = {**{one.name: one.default for one in KNOWN}, **options}
    if values["graph"].partition(":")[0] not in GRAPHS:
        values["agents"] = options.get("agents")  # a file knows its own
    about, letters = _letters(values)
    letters |= {
        "sigma": values["sigma"],
        "d": values["parameters"],
        "epsilon": values["epsilon"],
    }
    return Inputs(about, letters, [])


def of_run(path: Path) -> Inputs:
    """The values of a finished run. Only its JSON files are read: a plan would fetch data."""
    run = RunFolder(path)
    header, summary = run.facts(), run.summary().to_json()
    try:
        about, letters, notes = _of_files(path, header["experiment"], summary)
    except (KeyError, TypeError) as failure:
        raise InputError(
            f"Folder {str(path)!r} is damaged or of another version of dpdl "
            f"({failure})."
        ) from failure
    if header.get("graph_sha256") != about["graph_sha256"]:
        raise InputError(
            f"Run {str(path)!r} used another graph than {about['graph']!r}; use "
            "options instead."
        )
    return Inputs({"run": str(path), **about}, letters, notes)


def _of_files(
    path: Path, values: Mapping[str, Any], summary: Mapping[str, Any]
) -> Inputs:
    algorithm = make(values["algorithm"], {**values, "compress": "none"})
    update = algorithm.calibration
    if update is None:
        raise InputError(
            f"Theorem 2 is about dpdl; run {str(path)!r} trained with "
            f"{values['algorithm']}."
        )
    about, letters = _letters({**values, **update._asdict()})
    claimed = summary["epsilon"]["claimed_theorem1"]
    letters |= {
        "sigma": summary["sigma"],
        "d": summary["parameters"],
        # A string says that nothing is claimed.
        "epsilon": claimed if isinstance(claimed, float | int) else None,
    }
    return Inputs(about, letters, _departures(values, algorithm))


def _letters(values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What identifies the graph, and the paper's letters."""
    graph = build(values["graph"], values["agents"], values["weights"], values["seed"])
    about = {name: values[name] for name in ("graph", "weights", "seed")}
    about["graph_sha256"] = graph_hash(graph)
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


def _departures(values: Mapping[str, Any], algorithm: Algorithm) -> list[str]:
    """Where a run is not what the theorem is about."""
    notes = []
    if not algorithm.in_theorem2:
        notes.append(
            "The theorem is about 'dpdl'; this run trained with "
            f"{values['algorithm']!r}."
        )
    notes += algorithm.beyond_theorem2
    if values["clip_unit"] != "sample":
        notes.append(
            "The theorem clips every sample; the clip unit of this run was "
            f"{values['clip_unit']!r}."
        )
    return notes
