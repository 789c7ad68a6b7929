"""A pool with one run that does not end by itself: `python -m tests.studies.long_pool FOLDER`."""

from __future__ import annotations

import sys
import threading
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


class Heard(threading.Event):
    """Prints that it was asked to stop: what is pressed again after that is a second Ctrl-C."""

    def set(self) -> None:
        super().set()
        print("asked", flush=True)


def main(folder: Path) -> None:
    """Run, and print how it ended."""
    long = replace(TINY, rounds=100_000, checkpoint_every=5)
    runs = [PooledRun(folder, long)]
    endings = run_many(runs, 1, lambda name, news: None, Heard())
    print(endings[folder.name].state)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
