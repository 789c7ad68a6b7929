"""What is proven about a run, in numbers and in prose."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from dpdl.algorithms import NAMES
from dpdl.experiment.experiment import from_mapping
from dpdl.folder.ledger import recompute
from dpdl.planning.plan import plan
from dpdl.tasks.data import Dataset
from tests.sites import write_sites, write_test
from tests.training.small import changed, train

PRIVATE = sorted(name for name, algorithm in NAMES.items() if not algorithm.fixed)


def test_the_asked_threat_is_reported_too(blobs: Dataset) -> None:
    summary = train(blobs, changed(threat="neighbours:2", rounds=2)).summary
    assert set(summary["epsilon"]) == {
        "claimed_theorem1",
        "eavesdropper",
        "neighbour",
        "final_model",
        "neighbours:2",
    }


@pytest.mark.parametrize(
    ("algorithm", "who"),
    [
        ("dpdl", "2 neighbours of an agent that work together"),
        ("decor", "2 agents that work together"),
        ("concord", "2 agents that work together"),
    ],
)
def test_the_prose_names_those_whose_coalitions_were_counted(
    algorithm: str, who: str
) -> None:
    """A bound about neighbours is none about two agents anywhere."""
    asked = {"algorithm": algorithm, "dataset": "digits", "threat": "neighbours:2"}
    stated = plan(from_mapping({**asked, "agents": 6, "rounds": 2})).stated
    assert f"against {who}, over" in stated.prose(2)


def reported(run: Path) -> dict[str, float]:
    summary = json.loads((run / "summary.json").read_text())["epsilon"]
    return {
        name: value for name, value in summary.items() if name != "claimed_theorem1"
    }


@pytest.mark.parametrize("algorithm", sorted(set(NAMES) - set(PRIVATE)))
def test_a_non_private_original_says_so(
    blobs: Dataset, tmp_path: Path, algorithm: str
) -> None:
    result = train(
        blobs, changed(algorithm=algorithm, sigma=None), out=tmp_path / "run"
    )
    assert set(reported(tmp_path / "run").values()) == {"unbounded"}
    assert recompute(tmp_path / "run" / "ledger.jsonl")["eavesdropper"] == math.inf
    assert (
        result.summary["privacy_statement"]
        == "No privacy: gradients are exchanged without noise."
    )
    assert result.plan.grad.clip.sensitivity is None


@pytest.mark.parametrize(("delta", "warned"), [(1e-5, False), (0.1, True)])
def test_a_delta_above_one_over_the_records_is_warned_of(
    blobs: Dataset, delta: float, warned: bool
) -> None:
    summary = train(
        blobs, changed(algorithm="dpdl-sound", sigma=9.0, rounds=1, delta=delta)
    ).summary
    assert ("Warning: delta = 0.1" in summary["privacy_statement"]) == warned


def test_scores_on_a_sites_own_records_are_not_covered(tmp_path: Path) -> None:
    shared = {"dataset": "digits", "sigma": 1.0, "batch": 8, "algorithm": "dp-dpsgd"}
    sites = write_sites(tmp_path)
    own = plan(from_mapping({**shared, "sites": sites})).stated.prose(3)
    assert "tests on records of its own" in own
    public = {**shared, "sites": sites, "test": write_test(tmp_path)}
    assert "records of its own" not in plan(from_mapping(public)).stated.prose(3)
