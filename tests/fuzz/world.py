"""A small world of real files, made once: data, graphs, experiments, runs and their studies."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np

from tests.fuzz.judge import performed

HERE = Path(__file__).parents[1]
ROOT = HERE.parent
RUN = "run"
"""A finished run that was recorded, attacked and audited."""
OPEN = "open"
"""A run that was interrupted."""
DATA = "data.npz"
SITES = ("site0.npz", "site1.npz", "site2.npz")
GRAPH, MATRIX = "graph.edges", "graph.npy"
TOML = "experiment.toml"
COMPARED, SEARCHED, CELLS = "compared", "searched", "cells"
TINY = {
    "dataset": DATA,
    "agents": 3,
    "batch": 2,
    "model": "mlp",
    "graph": "ring",
    "rounds": 2,
    "sigma": 1.0,
    "partition": "iid",
}
"""An experiment of a tenth of a second."""
CELL = "mnist-bipartite-10-alpha0.25-epsilon0.25-decor.json"


def options(values: dict[str, object]) -> list[str]:
    """As a command line has them."""
    return [
        word
        for name, value in values.items()
        for word in (f"--{name.replace('_', '-')}", str(value))
    ]


def make_world(folder: Path) -> None:
    """All files of the world, in a new folder."""
    folder.mkdir(parents=True)
    before = Path.cwd()
    os.chdir(folder)
    try:
        _inputs()
        _runs()
        _studies()
    finally:
        os.chdir(before)


def _inputs() -> None:
    draw = np.random.default_rng(0)
    x, y = draw.random((60, 1, 4, 4), np.float32), np.arange(60) % 3
    np.savez(DATA, x=x, y=y)
    for k, name in enumerate(SITES):
        np.savez(name, x=draw.random((20, 5), np.float32), y=(np.arange(20) + k) % 3)
    Path(GRAPH).write_text("# three agents\n0 1\n1 2 0.5\n2 0\n")
    np.save(MATRIX, np.full((3, 3), 1 / 3))
    lines = [f"{name} = {value!r}\n" for name, value in TINY.items()]
    Path(TOML).write_text("".join(lines).replace("'", '"'))


def _runs() -> None:
    tiny = options(TINY)
    recorded = ["--record", "1,2", "--record-batches", "1", "--quiet"]
    _do("run", *tiny, "--out", RUN, *recorded, "--track", "csv")
    _do("privacy", "statement", RUN, "--format", "html")
    _do("run", *tiny, "--out", OPEN, "--quiet", "--checkpoint-every", "1")
    for name in ("summary.json", "timing.json"):
        (Path(OPEN) / name).unlink()


def _studies() -> None:
    old = HERE / "folder" / "old"
    shutil.copytree(old / "comparison", COMPARED)
    shutil.copytree(old / "search", SEARCHED)
    (Path(CELLS) / "sound").mkdir(parents=True)
    shutil.copy(ROOT / "results" / "sound" / CELL, Path(CELLS) / "sound" / CELL)


def _do(*words: str) -> None:
    done = performed(words, seconds=3000)
    if done.code != 0:
        raise RuntimeError(f"dpdl {' '.join(words)}: {done.code}\n{done.err}")
