"""What peers read from each other, damaged by the million: counted, resumable and in pieces.

    python tools/fuzz_peers.py cards --inputs 1000000 --minutes 20 --out cards.json

Input k of a kind and a seed is always the same. The counts are written every few seconds, and the
same command goes on where they end. Beside them are what is wrong, as `.wrong.jsonl`, and a hash of
every input, as `.seen`: it counts how many differ. Of one input in a hundred the memory is measured,
and no input may make this process larger than `MEMORY`.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import resource
import shutil
import sys
import tempfile
import time
import traceback
from pathlib import Path
from random import Random

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

from fuzz import EVERY, Counts  # noqa: E402

from tests.fuzz.laboratory import Verdict, memory  # noqa: E402
from tests.peer.foreign import Bench  # noqa: E402

MEMORY = 4 << 30
"""Bytes that this process may ask for: an input that wants more meets a MemoryError."""
WEIGHED = 100
"""Of one input in so many the memory is measured."""


def verdict(bench: Bench, kind: str, r: Random, weigh: bool) -> Verdict:
    """What an input came to; whatever is raised is wrong."""
    began = time.monotonic()
    try:
        came = bench.try_one(kind, r, weigh)
    except Exception as failure:
        said = f"{type(failure).__name__}: {str(failure)[:200]}"
        return Verdict(kind, "bug", (said,), err=traceback.format_exc(), input="0" * 16)
    given = hashlib.sha256(came.content).hexdigest()[:16]
    return Verdict(kind, came.ended, input=given, seconds=time.monotonic() - began)


def main() -> None:
    """Try inputs until there were enough, or the time is over."""
    asked = _asked()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    counts = Counts(asked.out, {"seed": asked.seed, "kind": asked.kind})
    place = Path(tempfile.mkdtemp(dir=memory()))
    bench = Bench(place / "bench")
    gc.freeze()
    started = written = time.monotonic()
    try:
        while counts.done < asked.inputs:
            if time.monotonic() - started > asked.minutes * 60:
                break
            number = counts.done
            r = Random(f"{asked.kind} {asked.seed} {number}")
            weigh = number % WEIGHED == 0
            counts.add(verdict(bench, asked.kind, r, weigh), number)
            if time.monotonic() - written > EVERY:
                written = time.monotonic()
                counts.write(counts.minutes + (written - started) / 60)
    finally:
        counts.write(counts.minutes + (time.monotonic() - started) / 60)
        bench.close()
        shutil.rmtree(place)
    print(asked.out.read_text("utf-8"))


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    kinds = ("frames", "manifests", "cards", "approvals", "statements", "hellos")
    parser.add_argument("kind", choices=kinds)
    parser.add_argument("--inputs", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--out", type=Path, default=Path("fuzz-peers.json"))
    return parser.parse_args()


if __name__ == "__main__":
    main()
