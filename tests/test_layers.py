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
    {"peer"},
    {"studies", "watch"},
    {"pages", "audit", "bench", "attacks"},
    {"training", "theory"},
    {"folder"},
    {"planning"},
    {"experiment"},
    {"algorithms"},
    {"net"},
    {"graph", "privacy", "tasks", "transport", "paper", "trackers"},
    {
        *("types", "keys", "rows", "parallel", "native", "options", "objects"),
        *("records", "foreign", "bounds", "extras", "carried"),
    },
    {"errors", "terminal"},
    {"text"},
]
FORBIDDEN = {("algorithms", "tasks"), ("algorithms", "transport")}


def layer_of(part: str) -> int:
    return next(k for k, layer in enumerate(LAYERS) if part in layer)


def modules(file: Path) -> set[str]:
    """All that a file imports, wherever in the file, with the names that it takes from there."""
    found = set()
    for entry in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(entry, ast.Import):
            found |= {alias.name for alias in entry.names}
        elif isinstance(entry, ast.ImportFrom) and entry.module:
            found |= {entry.module}
            found |= {f"{entry.module}.{alias.name}" for alias in entry.names}
    return found


def imports(file: Path) -> set[str]:
    """The parts of the package that a file imports."""
    found = {name.split(".")[1] for name in modules(file) if name.startswith("dpdl.")}
    known = set().union(*LAYERS)
    return found & known


FILES = sorted(
    p
    for p in SOURCE.rglob("*.py")
    if p.parent != SOURCE or p.stem not in ("__init__", "__main__")
)


@pytest.mark.parametrize("file", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_a_layer_imports_only_from_layers_below(file: Path) -> None:
    part = file.relative_to(SOURCE).parts[0].removesuffix(".py")
    for other in imports(file) - {part}:
        same_floor = layer_of(other) == layer_of(part) == layer_of("types")
        assert layer_of(other) > layer_of(part) or same_floor, f"{part} imports {other}"
        assert (part, other) not in FORBIDDEN, f"{part} imports {other}"


def of_room(room: str) -> list[Path]:
    return sorted((SOURCE / room).rglob("*.py"))


@pytest.mark.parametrize("file", of_room("cli"), ids=lambda p: p.name)
def test_the_command_line_needs_click_and_rich_and_nothing_else(file: Path) -> None:
    allowed = {"click", "rich", "dpdl", *sys.stdlib_module_names}
    assert {name.split(".")[0] for name in modules(file)} <= allowed


@pytest.mark.parametrize("file", of_room("pages"), ids=lambda p: p.name)
def test_pages_are_made_of_files(file: Path) -> None:
    """Who reads files needs no plan, no run and no data set."""
    rooms = ("dpdl.planning", "dpdl.training", "dpdl.studies", "dpdl.tasks.data")
    found = {name for name in modules(file) if name.startswith(rooms)}
    assert not found


@pytest.mark.parametrize(
    "room", ["studies", "watch", "pages", "audit", "attacks", "bench"]
)
def test_only_the_command_line_talks_to_a_terminal(room: str) -> None:
    for file in of_room(room):
        assert not {"click", "rich"} & {name.split(".")[0] for name in modules(file)}


def test_of_training_only_its_progress_is_drawn() -> None:
    """A loop has no terminal; what shows its progress watches it, as anybody may."""
    drawing = {
        file.name
        for file in of_room("training")
        if {"click", "rich"} & {name.split(".")[0] for name in modules(file)}
    }
    assert drawing == {"progress.py"}


TESTS = Path(__file__).parent
ALONE = (
    "pages",
    "studies",
    "watch",
    "attacks",
    "folder",
    "training",
    "planning",
    "audit",
)


@pytest.mark.parametrize(
    "file",
    [*TESTS.glob("*.py"), *(p for part in ALONE for p in (TESTS / part).rglob("*.py"))],
    ids=lambda p: str(p.relative_to(TESTS)),
)
def test_no_test_imports_from_another_test(file: Path) -> None:
    shared = {name for name in modules(file) if name.startswith("tests.")}
    assert not [name for name in shared if ".test_" in name]


def test_planning_does_not_wait_for_torch() -> None:
    words = ["privacy", "sigma", "--epsilon", "60", "--rounds", "10", "--json"]
    code = f"import sys; from dpdl.cli import cli; cli.main({words}, standalone_mode=False)\n"
    code += "sys.exit('torch' in sys.modules)"
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, check=False
        ).returncode
        == 0
    )


def test_the_help_of_a_run_does_not_wait_for_torch() -> None:
    code = "import sys; from dpdl.cli import cli\n"
    code += "try: cli.main(['run', '--help'])\n"
    code += "except SystemExit: pass\n"
    code += "sys.exit('torch' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=False
    )
    assert done.returncode == 0
    assert b"--correlation" in done.stdout


def test_every_part_has_a_layer() -> None:
    parts = {p.relative_to(SOURCE).parts[0].removesuffix(".py") for p in FILES}
    assert parts == set().union(*LAYERS)


def test_public_names() -> None:
    assert dpdl.__all__ == [
        "Dataset", "DpdlError", "Experiment", "Graph", "InputError", "PrivacyRefused", "Result", "RunFailed", "Stop",
        "Task", "__version__", "algorithms", "compare", "graph", "load", "privacy", "report", "resume", "train", "tune",
    ]  # fmt: skip
    for name in dpdl.__all__:
        assert getattr(dpdl, name) is not None


def test_help_does_not_wait_for_torch() -> None:
    code = "import sys, dpdl.cli; sys.exit('torch' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
