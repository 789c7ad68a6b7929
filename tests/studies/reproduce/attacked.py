"""Attacks beside the paper's, as if they had been made."""

from __future__ import annotations

import json
from pathlib import Path

from dpdl.attacks import harness, paper
from dpdl.paper.cells import Place
from dpdl.studies.reproduce import attack_store

RING = Place("mnist", "ring", 10)


def facts(place: Place, run: Path, scenarios=("cg", "mm")) -> dict:
    """What an attack says, with both runs in a folder."""
    numbers = {
        "mse": 0.123456,
        "psnr": 9.87654321,
        "ssim": 0.5,
        "mse_unit": 0.1,
        "label_recovery": None,
    }
    how = {
        "batch": 1,
        "own_batch": 216,
        "labels": "known",
        "method": "peel",
        "images": 10,
    }
    best = {
        "best_trivial": "mean",
        "best_trivial_mse": 0.26,
        "p_better_than_trivial": 0.001,
    }
    rows = []
    for who in ("ND", "DPDL"):
        folder = run / who
        folder.mkdir(parents=True, exist_ok=True)
        summary = {
            "accuracy": {"average_model": 0.98764, "mean": 0.5},
            "rounds": 801,
            "sigma": 6.90512,
        }
        (folder / "summary.json").write_text(
            json.dumps({**summary, "epsilon": {"eavesdropper": "unbounded"}})
        )
        for scenario in scenarios:
            row = {
                "run": str(folder),
                "who": who,
                "scenario": scenario,
                "round": 800,
                **numbers,
                **how,
                **best,
            }
            rows.append(row)
    trivial = [
        {"name": "mean", "mse": 0.26, "psnr": 12.0, "ssim": 0.2, "mse_unit": 0.06}
    ]
    return {
        "rows": rows,
        "trivial": trivial,
        "paper": paper.PAPER.compared(rows, place),
    }


def entered_attack(out: Path, place: Place, **more) -> None:
    made = facts(place, out / "made", **more)
    attack_store.add(out, place, paper.kept(made, place, harness.Effort()))
