"""Runs for privacy statements, and their two forms."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from dpdl import Experiment, train
from dpdl.pages.document import (
    as_html,
    as_text,
)
from dpdl.pages.statement import statement
from dpdl.pages.statement_evidence import read
from tests.pages.planted import SEED

Edit = Callable[..., Path]


def made(tmp_path_factory, **options) -> Path:
    folder = tmp_path_factory.mktemp("runs") / f"seed{SEED}"
    default = {
        "dataset": "digits",
        "agents": 4,
        "batch": 8,
        "rounds": 3,
        "sigma": 0.5,
        "algorithm": "dpdl-sound",
    }
    train(Experiment(**{**default, "seed": SEED, **options}), out=folder)
    return folder


def both(folder: Path) -> tuple[str, str]:
    document = statement(read(folder), "0.0", "2020-02-02")
    return " ".join(as_text(document).split()), as_html(document)
