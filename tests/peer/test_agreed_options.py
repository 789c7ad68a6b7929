"""Every option is agreed on, with its value; nothing is imported or opened to check it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from dpdl import algorithms
from dpdl.errors import InputError
from dpdl.experiment.experiment import Experiment
from dpdl.peer.agreed_options import (
    ELSEWHERE,
    check_own_code,
    experiment_from,
    is_named,
    options_table,
)
from tests.peer.agreements import options

SAID = {
    "sites": ("mercy", "st-olav", "vita"),
    "shape": "1,8,8",
    "predict": "10 classes",
    "records": "400,400,400",
}
PRIVATE = sorted(
    name for name, entry in algorithms.NAMES.items() if "noise" not in entry.fixed
)


@pytest.mark.parametrize("algorithm", PRIVATE)
def test_the_options_of_every_algorithm_are_agreed_on(algorithm: str) -> None:
    example = algorithms.NAMES[algorithm].kind.example
    table = options(algorithm=algorithm, **example)
    e = experiment_from(table, SAID, 3.5)
    assert e.sigma == 3.5
    assert not set(table) & set(ELSEWHERE)
    assert options_table(e) == {**table, "sigma": 3.5}


def test_every_option_that_is_set_is_needed() -> None:
    table = options()
    for name in table:
        without = {key: value for key, value in table.items() if key != name}
        with pytest.raises(InputError, match=rf"manifest\.experiment.*\b{name}\b"):
            experiment_from(without, SAID, 3.5)


def test_defaults_of_another_version_change_nothing() -> None:
    table = {**options(), "lr": 0.017, "clip": 9.0, "epsilon": 2.0, "alpha": 1.1}
    e = experiment_from(table, SAID, 3.5)
    assert (e.clip, e.epsilon, e.options["lr"]) == (9.0, 2.0, 0.017)


@pytest.mark.parametrize("option", ["model", "loss", "score"])
def test_own_code_is_named_by_its_option(option: str) -> None:
    e = Experiment(**{option: "mine.nets:Net"})
    with pytest.raises(InputError, match=rf"{option} is code of 'mine\.nets', which"):
        check_own_code(e, ["mine", "nets"])
    check_own_code(e, ["mine.nets"])
    for reached in ("os.abort", "Net.__init__", ""):
        with pytest.raises(InputError, match=f"{option} must be MODULE:NAME"):
            check_own_code(Experiment(**{option: f"mine:{reached}"}), ["mine"])
    check_own_code(Experiment(), [])


def test_a_graph_with_a_name_can_be_built_again() -> None:
    assert all(map(is_named, ["ring", "torus:3x4", "erdos-renyi:0.3"]))
    assert not any(map(is_named, ["given", "edges.csv", "/tmp/x", ""]))


def test_reading_a_manifest_does_not_wait_for_torch() -> None:
    code = "import dpdl.peer.manifest, sys; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
