"""What type checkers see of an experiment is what the options declare."""

from __future__ import annotations

import importlib.util
import inspect
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import get_args, get_type_hints

import pytest

from dpdl import algorithms
from dpdl.experiment import names, typed_options
from dpdl.experiment.experiment import Experiment
from dpdl.experiment.options import options_of
from dpdl.experiment.shared import SHARED
from dpdl.experiment.typed_options import ExperimentOptions
from dpdl.options import allowed_names, may_be_none

HOME = Path(__file__).parents[2]
TOOL = HOME / "tools" / "typed_options.py"


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("typed_options_tool", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def without_layout(text: str) -> str:
    return "".join(text.split()).replace(",]", "]")


def test_the_file_is_what_the_tool_makes(tool: ModuleType) -> None:
    found = Path(typed_options.__file__).read_text("utf-8")
    assert without_layout(found) == without_layout(tool.page()), (
        "make it again: python tools/typed_options.py"
    )


def test_every_option_is_a_key() -> None:
    own = {name for one in algorithms.NAMES for name in options_of(one)}
    keys = set(ExperimentOptions.__annotations__)
    assert keys == {*SHARED, *own, "options"}


@pytest.mark.parametrize(
    ("kind", "listed"),
    [
        ("DatasetName", names.datasets),
        ("ModelName", names.models),
        ("GraphName", names.graphs),
        ("WeightsName", names.weights),
        ("PartitionName", names.partitions),
        ("NoiseName", names.noises),
        ("RelationName", names.relations),
        ("LossName", names.losses),
        ("ScoreName", names.scores),
        ("AlgorithmName", lambda: sorted(algorithms.NAMES)),
    ],
)
def test_literals_are_the_registries(kind: str, listed) -> None:
    assert list(get_args(getattr(typed_options, kind))) == sorted(listed())


def test_an_option_with_fixed_names_takes_no_other_text() -> None:
    names = {**vars(typed_options), "Algorithm": object}
    hints = get_type_hints(ExperimentOptions, localns=names)
    for name, f in SHARED.items():
        if allowed_names(f) and not f.metadata["also"]:
            parts = get_args(hints[name])
            if may_be_none(f):  # Literal[...] | None
                assert type(None) in parts, name
                (parts,) = (get_args(one) for one in parts if one is not type(None))
            assert str not in parts, name
            assert set(parts) == set(allowed_names(f)), name


def test_a_notebook_shows_every_option() -> None:
    for name, f in SHARED.items():
        assert f"{name}: {f.metadata['help']}" in Experiment.__doc__
        assert name in inspect.signature(Experiment).parameters


@pytest.mark.slow
def test_a_type_checker_sees_names_and_types(tmp_path: Path) -> None:
    wrong = {
        'Experiment(sampling="poison")': "sampling",
        'Experiment(rounds="5")': "rounds",
        "Experiment(momentun=0.9)": "momentun",
        'Experiment(cosine="whole")': "cosine",
    }
    right = ['Experiment(dataset="mine.npz", lr=0.2, graph="ring", seed=1)']
    code = "from dpdl import Experiment\n" + "\n".join([*right, *wrong]) + "\n"
    (tmp_path / "use.py").write_text(code)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "mypy",
            "--strict",
            "--cache-dir",
            str(tmp_path),
            "use.py",
        ],
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(HOME / "src"), "PYTHONWARNINGS": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    errors = [line for line in done.stdout.splitlines() if line.startswith("use.py:")]
    for number, name in enumerate(wrong.values(), 3):
        assert [line for line in errors if line.startswith(f"use.py:{number}:")], name
    assert not [line for line in errors if line.startswith("use.py:2:")], done.stdout
