"""A pool with one run that does not end by itself: `python -m tests.studies.long_pool FOLDER`."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from dpdl.experiment.experiment import Experiment
from dpdl.studies.pool import run_many
from dpdl.studies.pool_messages import PooledRun

TINY = Experiment(
    dataset="digits",
    agents=3,
    batch=8,
    algorithm="dpdl-sound",
    rounds=3,
    sigma=1.0,
    eval_every=3,
    checkpoint_every=1,
).resolved()


def main(folder: Path) -> None:
    """Run, and print how it ended."""
    long = replace(TINY, rounds=100_000, checkpoint_every=5)
    endings = run_many([PooledRun(folder, long)], 1, lambda name, news: None)
    print(endings[folder.name].state)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
