"""A run in which everything private is a number that can be recognised."""

from __future__ import annotations

import json
from pathlib import Path

from dpdl import Experiment, train

SEED = 987_654_321
PLANTED = {
    "training loss": "3.14159265",
    "least and largest loss": "2.71828182",
    "clip fraction": "0.57721566",
    "gradients that were not finite": "8675309",
    "fewest records": "31337",
    "records that an agent holds": "27182",
    "seconds": "1618.0339",
    "cosine": "0.69314718",
    "seed": str(SEED),
}
"""Numbers that nobody meets by chance, as they are in the files. A page rounds them; the first digits stay."""


def shown(value: str) -> set[str]:
    """The ways in which a page may write a number."""
    ways = {value, value[:5]}
    if value.isdecimal():
        return {value, f"{int(value):,}", f"{int(value):.4g}"} - {""}
    return ways | (
        {f"{float(value):.4g}", f"{float(value):.1%}", f"{float(value):.3f}"}
        if "." in value
        else set()
    )


def plant(base: Path) -> Path:
    """A real run of dpdl; its folder, below `base`."""
    folder = base / f"dpdl-digits-ring-3-seed{SEED}"
    train(
        Experiment(
            dataset="digits",
            agents=3,
            batch=8,
            rounds=2,
            sigma=0.5,
            eval_every=1,
            seed=SEED,
        ),
        out=folder,
    )
    summary = json.loads((folder / "summary.json").read_text())
    summary |= {
        "train_loss": float(PLANTED["training loss"]),
        "seconds": float(PLANTED["seconds"]),
    }
    summary |= {"broken_gradients": int(PLANTED["gradients that were not finite"])}
    summary |= {"records": {"fewest": int(PLANTED["fewest records"]), "most": 73_313}}
    (folder / "summary.json").write_text(json.dumps(summary))
    lines = [
        json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()
    ]
    for line in lines:
        ends = {"min": float(PLANTED["least and largest loss"]), "max": 4.0}
        line |= {
            "train_loss": {"mean": float(PLANTED["training loss"]), **ends},
            "cosine": float(PLANTED["cosine"]),
        }
        line |= {
            "clip_fraction": float(PLANTED["clip fraction"]),
            "coefficient": 0.420420,
        }
    (folder / "metrics.jsonl").write_text(
        "".join(json.dumps(line) + "\n" for line in lines)
    )
    held = int(PLANTED["records that an agent holds"])
    counts = json.loads((folder / "partition.json").read_text())
    counts["counts"] = [[held - 9, *[1] * 9] for _ in counts["counts"]]
    (folder / "partition.json").write_text(json.dumps(counts))
    return folder
