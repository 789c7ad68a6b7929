"""The result of an attack, as it lies in a folder."""

from __future__ import annotations

import json
from pathlib import Path

from tests.report.parsing import PNG


def row(who: str, scenario: str, ssim: float, p: float, **more) -> dict:
    numbers = {
        "mse": 0.1,
        "psnr": 20.0,
        "ssim": ssim,
        "p_better_than_trivial": p,
        "label_recovery": 1.0,
        "images": 10,
    }
    return {
        "who": who,
        "scenario": scenario,
        "round": 5,
        "batch": 1,
        "own_batch": 216,
        **numbers,
        **more,
    }


OPEN, HALF, SHUT = (
    row("ND", "cg", 0.92, 0.001),
    row("ND", "mm", 0.3, 0.01),
    row("DPDL", "cg", 0.6, 0.4),
)
TRIVIAL = [{"name": "mean", "mse": 0.26, "psnr": 12.0, "ssim": 0.2}]


def leave_attack(folder: Path) -> None:
    """What `dpdl attack` writes: numbers and pictures."""
    for name in ("gallery.png", "agents.png"):
        (folder / name).write_bytes(PNG)
    facts = {
        "rows": [OPEN, SHUT, row("ND", "cg", 0.99, 0.001, round=800)],
        "trivial": TRIVIAL,
    }
    (folder / "attack.json").write_text(
        json.dumps({**facts, "epsilon": {"ND": "unbounded", "DPDL": 3.5}})
    )
