"""The paper's attack on a small data set, with few rounds."""

from __future__ import annotations

from dpdl.attacks.paper import PaperAttack
from dpdl.experiment.experiment import Experiment
from dpdl.paper.cells import AttackedPlace


def experiments(place: AttackedPlace, seed: int) -> dict[str, Experiment]:
    """Two runs of three rounds, whatever the place."""
    common = {
        "dataset": "digits",
        "graph": "ring",
        "agents": 3,
        "batch": 8,
        "rounds": 3,
        "seed": seed,
    }
    return {
        "nd": Experiment(**common, noise="none", clip_unit="none"),
        "dpdl": Experiment(**common, noise="theorem1", epsilon=0.5),
    }


TINY = PaperAttack(experiments, rounds=(2,))
