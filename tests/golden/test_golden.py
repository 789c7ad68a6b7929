"""Curves that must not change by accident; record them anew with `python -m tests.golden.test_golden`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import dpdl

FILE = Path(__file__).with_name("digits.json")
RUNS = {
    "dpdl": {"algorithm": "dpdl"},
    "dpdl-sound": {"algorithm": "dpdl-sound"},
    "as-published": {"clip_unit": "chunks", "cosine": "tensor", "weight_decay": 5e-4, "sampling": "fixed"},
}


def curve(name: str) -> list[dict[str, float]]:
    shared = {"dataset": "digits", "graph": "ring", "agents": 4, "rounds": 8, "batch": 16, "dtype": "float64"}
    shared |= {"noise": "theorem1"}
    metrics = dpdl.train(dpdl.Experiment(**shared, epsilon=2.0, eval_every=2, seed=11, **RUNS[name])).metrics
    keep = ("round", "consensus_distance", "cosine", "bytes_sent")
    return [
        {**{k: m[k] for k in keep}, "loss": m["train_loss"]["mean"], "accuracy": m["accuracy"]["mean"]} for m in metrics
    ]


@pytest.mark.parametrize("name", RUNS)
def test_curve_is_the_recorded_one(name: str) -> None:
    recorded = json.loads(FILE.read_text())[name]
    found = curve(name)
    assert len(found) == len(recorded)
    for now, then in zip(found, recorded, strict=True):
        assert now == pytest.approx(then, rel=1e-8)


if __name__ == "__main__":
    FILE.write_text(json.dumps({name: curve(name) for name in RUNS}, indent=1) + "\n")
