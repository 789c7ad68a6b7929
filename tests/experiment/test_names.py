"""Names are listed without torch, and are those of the code."""

from __future__ import annotations

import subprocess
import sys

import pytest

from dpdl import graph
from dpdl.algorithms import NAMES
from dpdl.experiment import names
from dpdl.privacy.threats import threat
from dpdl.tasks import data, losses, models, partition, scores

LISTS = {
    "datasets": data.NAMES,
    "losses": losses.LOSSES,
    "models": models.NAMES,
    "scores": scores.SCORES,
    "graphs": graph.GRAPHS,
    "weights": graph.WEIGHTS,
    "partitions": partition.RULES,
}


@pytest.mark.parametrize("of", LISTS)
def test_names_are_those_of_the_code_in_alphabetical_order(of: str) -> None:
    assert getattr(names, of)() == sorted(LISTS[of])


def test_all_our_algorithms_are_named() -> None:
    assert set(NAMES) <= set(names.algorithms())
    assert names.algorithms() == sorted(names.algorithms())


def test_every_threat_can_be_asked_for() -> None:
    for name in names.threats():
        assert threat(name.replace("K", "2"))


def test_lists_are_new_each_time() -> None:
    names.datasets().clear()
    assert names.datasets()


def test_names_do_not_wait_for_torch() -> None:
    code = "import sys; from dpdl.experiment import names\n"
    code += "for of in (names.datasets, names.models, names.losses, names.scores,"
    code += " names.graphs, names.weights,"
    code += " names.algorithms, names.noises, names.threats, names.relations): of()\n"
    code += "sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
