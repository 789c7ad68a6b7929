"""Curves that must not change by accident; record them anew with `python -m tests.golden.test_golden`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import dpdl

FILE = Path(__file__).with_name("digits.json")
NOISY = {"dtype": "float64", "noise": "theorem1", "epsilon": 2.0}
SINGLE = {
    "dtype": "float32",
    "noise": "none",
    "model": "cnn",
}  # the fused path, where the model allows it
FAST = {"dtype": "float32", "sigma": 1.0, "eval_every": 4}
"""The kernels' noise; `float32` in the name of a run says how far its curve may be off."""
PUBLISHED = {
    "clip_unit": "chunks",
    "cosine": "tensor",
    "weight_decay": 5e-4,
    "sampling": "fixed",
}
RUNS = {
    "dpdl": {"algorithm": "dpdl", **NOISY},
    "dpdl-sound": {"algorithm": "dpdl-sound", **NOISY},
    "as-published": {**PUBLISHED, **NOISY},
    "dpdl, float32": {"algorithm": "dpdl", **SINGLE},
    "as-published, float32": {**PUBLISHED, **SINGLE},
    # Noise in float32, and each time another way from a gradient to what is sent:
    "dp-dpsgd, noise in float32": {"algorithm": "dp-dpsgd", **FAST},
    "dpdl, noise in float32": {"algorithm": "dpdl", **FAST},  # cross-gradients
    "dpdl-sound, signs, noise in float32": {
        "algorithm": "dpdl-sound",
        "compress": "sign",
        **FAST,
    },
    "dp-netfleet, noise in float32": {"algorithm": "dp-netfleet", **FAST},  # tracking
    "decor, noise in float32": {"algorithm": "decor", **FAST},  # correlated noise
    "muffliato, noise in float32": {"algorithm": "muffliato", **FAST},  # much gossip
    "async-dpsgd, noise in float32": {
        "algorithm": "async-dpsgd",
        **FAST,
    },  # one a round
}


def curve(name: str) -> list[dict[str, float]]:
    shared = {
        "dataset": "digits",
        "graph": "ring",
        "agents": 4,
        "rounds": 8,
        "batch": 16,
        "records": "exact",
        "eval_every": 2,
        "seed": 11,
    }
    metrics = dpdl.train(dpdl.Experiment(**(shared | RUNS[name]))).metrics
    wanted = ("round", "consensus_distance", "cosine", "bytes_sent")
    keep = [name for name in wanted if name in metrics[0]]
    return [
        {
            **{k: m[k] for k in keep},
            "loss": m["train_loss"]["mean"],
            "accuracy": m["accuracy"]["mean"],
        }
        for m in metrics
    ]


@pytest.mark.parametrize("name", RUNS)
def test_curve_is_the_recorded_one(name: str) -> None:
    recorded = json.loads(FILE.read_text())[name]
    found = curve(name)
    assert len(found) == len(recorded)
    for now, then in zip(found, recorded, strict=True):
        assert now == pytest.approx(then, rel=1e-4 if "float32" in name else 1e-8)


if __name__ == "__main__":
    FILE.write_text(json.dumps({name: curve(name) for name in RUNS}, indent=1) + "\n")
