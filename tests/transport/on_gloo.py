"""All plays in processes over gloo: `python -m tests.transport.on_gloo` prints what came of them.

One process imports torch and forks three for every play, each with a group of its own.
"""

from __future__ import annotations

import json
import multiprocessing
import sys
import tempfile
from multiprocessing.connection import Connection
from pathlib import Path

import torch.distributed as dist

from dpdl.transport import Gloo
from tests.transport.scenarios import PLAYS, SIZE


def one(name: str, rank: int, meeting: Path, told: Connection) -> None:
    """One process of a play. It leaves as a process that is killed does: without a word."""
    dist.init_process_group(
        "gloo", init_method=f"file://{meeting}", rank=rank, world_size=SIZE
    )
    dist.barrier()  # nobody leaves before all have met
    told.send(PLAYS[name](Gloo(rank, SIZE)))


def main() -> None:
    """Play after play."""
    context = multiprocessing.get_context("fork")
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in PLAYS:
            meeting = Path(folder) / name
            pipes = [context.Pipe(duplex=False) for _ in range(SIZE)]
            processes = [
                context.Process(target=one, args=(name, rank, meeting, pipe[1]))
                for rank, pipe in enumerate(pipes)
            ]
            for process in processes:
                process.start()
            found[name] = [
                pipe[0].recv() if pipe[0].poll(60) else "silent" for pipe in pipes
            ]
            for process in processes:
                process.join()
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
