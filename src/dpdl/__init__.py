"""Differentially private, decentralized learning.

    import dpdl
    result = dpdl.train(dpdl.Experiment(dataset="digits", graph="ring", agents=5, rounds=50))

Names are imported when first used, so that `dpdl --help` does not wait for torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

if TYPE_CHECKING:
    from dpdl import algorithms, graph, privacy
    from dpdl.errors import DpdlError, InputError, PrivacyRefused, RunFailed
    from dpdl.experiment.experiment import Experiment
    from dpdl.graph import Graph
    from dpdl.studies.notebook import compare, report, tune
    from dpdl.tasks.data import Dataset
    from dpdl.tasks.task import Task
    from dpdl.training.load import load
    from dpdl.training.result import Result
    from dpdl.training.stopping import Stop
    from dpdl.training.train import resume, train

_HOME = {
    "Dataset": "dpdl.tasks.data",
    "DpdlError": "dpdl.errors",
    "Experiment": "dpdl.experiment.experiment",
    "Graph": "dpdl.graph",
    "InputError": "dpdl.errors",
    "PrivacyRefused": "dpdl.errors",
    "Result": "dpdl.training.result",
    "RunFailed": "dpdl.errors",
    "Stop": "dpdl.training.stopping",
    "Task": "dpdl.tasks.task",
    "compare": "dpdl.studies.notebook",
    "load": "dpdl.training.load",
    "resume": "dpdl.training.train",
    "train": "dpdl.training.train",
    "tune": "dpdl.studies.notebook",
    "report": "dpdl.studies.notebook",
}
_MODULES = ("algorithms", "graph", "privacy")

__all__ = [
    "Dataset",
    "DpdlError",
    "Experiment",
    "Graph",
    "InputError",
    "PrivacyRefused",
    "Result",
    "RunFailed",
    "Stop",
    "Task",
    "__version__",
    "algorithms",
    "compare",
    "graph",
    "load",
    "privacy",
    "report",
    "resume",
    "train",
    "tune",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"dpdl.{name}")
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'dpdl' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
