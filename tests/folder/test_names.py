"""File names are spelt out in one module, and the run folder that training leaves has no others."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import dpdl
from dpdl.folder import names
from tests.training.small import train

SOURCE = Path(dpdl.__file__).parent
HERE = Path(names.__file__)
FIXED = [
    value
    for name, value in vars(names).items()
    if name.isupper() and isinstance(value, str)
]
FIXED += [name for files in names.FEATURES.values() for name in files]
COPIED = {"patches.npz", "deep_patches.npz"}  # files of the package, which exports copy
FIXED = [name for name in FIXED if name not in COPIED]
FILES = {name for name in FIXED if "." in name}
FOLDERS = {name for name in FIXED if "." not in name}


def literals(tree: ast.AST) -> Iterator[ast.Constant]:
    """All strings that stand for themselves: not a docstring, which is longer than a name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node


def joined(tree: ast.AST) -> Iterator[str]:
    """Strings that are joined to a path: `folder / "name"`, `Path("name")`."""
    for node in ast.walk(tree):
        found: list[ast.expr] = []
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            found = [node.left, node.right]
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Path":
            found = node.args
        for part in found:
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                yield part.value


@pytest.mark.parametrize(
    "file",
    sorted(set(SOURCE.rglob("*.py")) - {HERE}),
    ids=lambda path: str(path.relative_to(SOURCE)),
)
def test_no_other_module_spells_a_name_out(file: Path) -> None:
    tree = ast.parse(file.read_text("utf-8"))
    spelt = [node.value for node in literals(tree) if node.value in FILES]
    spelt += [name for name in joined(tree) if name in FOLDERS]
    assert not spelt, f"use dpdl.folder.names for {spelt}"


def test_a_run_leaves_files_with_known_names_only(blobs, tmp_path: Path) -> None:
    train(blobs, out=tmp_path / "run")
    found = {path.name for path in (tmp_path / "run").iterdir()}
    assert found == {
        names.EXPERIMENT,
        names.LEDGER,
        names.METRICS,
        names.PARTITION,
        names.STATE,
        names.SUMMARY,
        names.TIMING,
        names.LOCK,
    }


def test_the_documented_files_of_a_run_are_the_known_ones() -> None:
    page = Path(__file__).parents[2] / "docs" / "architecture.md"
    section = page.read_text("utf-8").split("## The run folder")[1].split("\n## ")[0]
    rows = [line.split("`")[1] for line in section.splitlines() if line[:3] == "| `"]
    fixed = {name.rstrip("/") for name in rows if "-R" not in name}
    every = {
        names.EXPERIMENT,
        names.METRICS,
        names.LEDGER,
        names.LEDGER_NOTE,
        names.PARTITION,
        names.STATE,
        names.SUMMARY,
        names.TIMING,
        names.METRICS_TABLE,
        names.TENSORBOARD,
        names.WANDB,
        names.MLFLOW,
        names.TRACKIO,
        names.MODEL,
        names.RECORDING,
        names.AUDIT,
        names.ATTACK,
        names.REPORT,
        names.PUBLIC_REPORT,
        names.STATEMENT,
        names.TRAINING_CURVES,
        names.LOCK,
    }
    assert fixed == every


@pytest.mark.parametrize(
    ("t", "batch", "later", "name"),
    [
        (7, None, False, "000007.safetensors"),
        (7, 2, False, "000007-b2.safetensors"),
        (7, 2, True, "000007-b2-after.safetensors"),
    ],
)
def test_recorded_rounds_are_found_by_their_names(
    t: int, batch: int | None, later: bool, name: str
) -> None:
    assert names.recorded_round(t, batch, later) == name
    assert names.round_recorded_in(name) == (None if later else (t, batch))


def test_checkpoints_of_processes_fit_their_pattern() -> None:
    for before in (False, True):
        assert Path(names.state_of(3, before)).match(names.STATES)
    assert not Path(names.STATE).match(names.STATES)


# ------------------------------------------------------------------ asking a folder
