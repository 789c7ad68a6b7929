"""The recipe of algorithms whose agents agree, in all places of the paper."""

from __future__ import annotations

import pytest

from dpdl.paper.cells import select
from dpdl.studies.reproduce import recipes
from dpdl.studies.reproduce.around_centre import OF_DATASET, STEPS

CELLS = select(None, "algorithm=concord", recipes.BEYOND)


def test_there_is_one_for_every_claim_of_the_paper() -> None:
    assert len(CELLS) == 108
    for cell in CELLS:
        e = recipes.experiment(cell, "sound", seed=1)
        assert (e.dataset, e.graph, e.agents, e.alpha_d, e.epsilon) == cell[:5]
        assert e.algorithm == "concord" and e.seed == 1
        assert (e.noise, e.threat, e.centre) == (
            "accountant",
            "eavesdropper",
            "private",
        )
        assert e.rate == OF_DATASET[cell.dataset]["rate"] and e.batch is None
        assert e.options["lr"] == STEPS[cell.dataset][cell.epsilon]
        assert not recipes.untuned(cell, "sound")


@pytest.mark.parametrize("mode", ["as-published", "algorithm1"])
def test_it_is_for_mode_sound_alone(mode: str) -> None:
    assert not recipes.is_in_mode(CELLS[0], mode)
