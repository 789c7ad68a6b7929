"""Foreign inputs by the million: what `tests/fuzz` tries, counted, resumable and in parts.

    python tools/fuzz.py --inputs 1000000 --seed 1 --minutes 60 --out fuzz.json

Input k of a seed is always the same. Counts by kind and by how inputs ended are written to the
file every few seconds; the same command goes on where it ended. Several processes share the work
as `--part 0/2` and `--part 1/2`, each with a file of its own. What is wrong is written beside it.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.fuzz import cases, quick  # noqa: E402
from tests.fuzz.laboratory import Laboratory, Verdict  # noqa: E402

COMMANDS = 0.02
"""Share of inputs that are whole commands; a reader takes a hundredth of their time."""
EVERY = 10.0
"""Seconds between two writings."""


def kind_of(r: Random, share: float) -> str:
    """Whole commands or readers, each kind as often as the others."""
    return r.choice(list(cases.KINDS if r.random() < share else quick.QUICK))


class Counts:
    """What inputs came to, in a file."""

    def __init__(self, path: Path, seed: int, part: str, share: float) -> None:
        self._path = path
        self._about = {"seed": seed, "part": part, "commands": share}
        self.done = 0
        self.minutes = 0.0
        self._ended: Counter[str] = Counter()
        self._wrong = 0
        if path.exists():
            self._go_on(json.loads(path.read_text("utf-8")))

    def _go_on(self, found: dict[str, object]) -> None:
        if {name: found[name] for name in self._about} != self._about:
            sys.exit(f"{self._path} counts other inputs: {found}")
        self.done, self._wrong = int(str(found["done"])), int(str(found["wrong"]))
        self.minutes = float(str(found["minutes"]))
        ended = found["ended"]
        assert isinstance(ended, dict)
        self._ended.update(ended)

    def add(self, found: Verdict, number: int) -> None:
        """One input more."""
        self.done += 1
        self._ended[f"{found.kind} -> {found.ended}"] += 1
        if found.wrong:
            self._wrong += 1
            line = {"number": number, "kind": found.kind, "wrong": found.wrong}
            more = {"about": found.about, "err": found.err[-3000:]}
            with self._path.with_suffix(".wrong.jsonl").open("a") as file:
                file.write(json.dumps({**line, **more}) + "\n")

    def write(self, minutes: float) -> None:
        """Replace the file."""
        found = {
            **self._about,
            "done": self.done,
            "wrong": self._wrong,
            "minutes": round(minutes, 1),
            "ended": dict(sorted(self._ended.items())),
        }
        part = self._path.with_suffix(".part")
        part.write_text(json.dumps(found, indent=2) + "\n", "utf-8")
        part.replace(self._path)


def main() -> None:
    """Try inputs until there were enough, or the time is over."""
    asked = _asked()
    part, parts = map(int, asked.part.split("/"))
    counts = Counts(asked.out, asked.seed, asked.part, asked.commands)
    wanted = len(range(part, asked.inputs, parts))
    started = written = time.monotonic()
    with tempfile.TemporaryDirectory() as place:
        laboratory = Laboratory(Path(place))
        laboratory.warm_up()
        while counts.done < wanted:
            number = part + counts.done * parts
            r = Random(f"{asked.seed} {number}")
            counts.add(laboratory.try_one(kind_of(r, asked.commands), r), number)
            now = time.monotonic()
            if now - written > EVERY:
                counts.write(counts.minutes + (now - started) / 60)
                written = now
            if now - started > asked.minutes * 60:
                break
    counts.write(counts.minutes + (time.monotonic() - started) / 60)
    print(asked.out.read_text("utf-8"))


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--inputs", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--part", default="0/1", help="K/N: every N-th input from K on")
    parser.add_argument("--commands", type=float, default=COMMANDS, help="their share")
    parser.add_argument("--out", type=Path, default=Path("fuzz.json"))
    return parser.parse_args()


if __name__ == "__main__":
    main()
