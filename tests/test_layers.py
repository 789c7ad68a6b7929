"""The shape of the code: a layer imports only from layers below it, and the public names are what they are."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import dpdl

SOURCE = Path(dpdl.__file__).parent
LAYERS = [
    {"cli"},
    {"report", "audit", "bench", "attacks", "reproduce"},
    {"run", "theory"},
    {"algorithms"},
    {"net"},
    {"graph", "privacy", "tasks", "transport", "paper"},
    {"types", "keys", "rows", "parallel", "native"},
    {"errors"},
]
FORBIDDEN = {("algorithms", "tasks"), ("algorithms", "transport")}


def layer_of(part: str) -> int:
    return next(k for k, layer in enumerate(LAYERS) if part in layer)


def imports(file: Path) -> set[str]:
    """The parts of the package that a file imports, wherever in the file."""
    found = set()
    for entry in ast.walk(ast.parse(file.read_text())):
        names: list[str] = []
        if isinstance(entry, ast.Import):
            names = [alias.name for alias in entry.names]
        elif isinstance(entry, ast.ImportFrom) and entry.module:
            names = [entry.module, *(f"{entry.module}.{alias.name}" for alias in entry.names)]
        found |= {name.split(".")[1] for name in names if name.startswith("dpdl.")}
    known = set().union(*LAYERS)
    return found & known


FILES = sorted(p for p in SOURCE.rglob("*.py") if p.parent != SOURCE or p.stem not in ("__init__", "__main__"))


@pytest.mark.parametrize("file", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_a_layer_imports_only_from_layers_below(file: Path) -> None:
    part = file.relative_to(SOURCE).parts[0].removesuffix(".py")
    for other in imports(file) - {part}:
        same_floor = layer_of(other) == layer_of(part) == layer_of("types")
        assert layer_of(other) > layer_of(part) or same_floor, f"{part} imports {other}"
        assert (part, other) not in FORBIDDEN, f"{part} imports {other}"


def test_planning_does_not_wait_for_torch() -> None:
    words = ["privacy", "sigma", "--epsilon", "2", "--rounds", "10", "--json"]
    code = f"import sys; from dpdl.cli import cli; cli.main({words}, standalone_mode=False)\n"
    code += "sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


def test_every_part_has_a_layer() -> None:
    parts = {p.relative_to(SOURCE).parts[0].removesuffix(".py") for p in FILES}
    assert parts == set().union(*LAYERS)


def test_public_names() -> None:
    assert dpdl.__all__ == [
        "Dataset", "DpdlError", "Experiment", "Graph", "InputError", "PrivacyRefused", "Result", "RunFailed", "Task",
        "__version__", "algorithms", "graph", "privacy", "resume", "train",
    ]  # fmt: skip
    for name in dpdl.__all__:
        assert getattr(dpdl, name) is not None


def test_help_does_not_wait_for_torch() -> None:
    code = "import sys, dpdl.cli; sys.exit('torch' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
