"""Foreign inputs by the million: what `tests/fuzz` tries, counted, resumable and in parts.

    python tools/fuzz.py --inputs 1000000 --seed 1 --minutes 60 --out fuzz.json

Input k of a seed is always the same. Counts by kind and by how inputs ended are written to the
file every few seconds; the same command goes on where it ended. Several processes share the work
as `--part 0/2` and `--part 1/2`, each with a file of its own. Beside it are what is wrong, as
`.wrong.jsonl`, and a hash of every input, as `.seen`: it counts how many differ. Files are damaged
in memory (`--place`), where the small world stays for the next part.
"""

from __future__ import annotations

import argparse
import gc
import json
import resource
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.fuzz import cases, quick  # noqa: E402
from tests.fuzz.laboratory import Laboratory, Verdict, memory  # noqa: E402

COMMANDS = 0.0015
"""Share of inputs that are whole commands; a reader takes a hundredth of their time."""
EVERY = 10.0
"""Seconds between two writings."""
HASH = 8
"""Bytes of the hash of an input."""
MEMORY = 10 << 30
"""Bytes that this process may ask for: an input that wants more meets a MemoryError."""


def kind_of(r: Random, share: float) -> str:
    """A whole command or a reader, quick ones more often."""
    often = cases.OFTEN if r.random() < share else quick.OFTEN
    return r.choice([kind for kind in often for _ in range(often[kind])])


class Counts:
    """What inputs came to, in a file."""

    def __init__(self, path: Path, about: dict[str, object]) -> None:
        self._path = path
        self._about = about
        self.done = 0
        self.minutes = 0.0
        self._ended: Counter[str] = Counter()
        self._seconds: Counter[str] = Counter()  # by kind
        self._wrong = 0
        self._new: list[bytes] = []
        if path.exists():
            self._go_on(json.loads(path.read_text("utf-8")))
        self._seen = self._read_seen()

    def _go_on(self, found: dict[str, object]) -> None:
        if {name: found[name] for name in self._about} != self._about:
            sys.exit(f"{self._path} counts other inputs: {found}")
        self.done, self._wrong = int(str(found["done"])), int(str(found["wrong"]))
        self.minutes = float(str(found["minutes"]))
        ended, seconds = found["ended"], found["seconds"]
        assert isinstance(ended, dict)
        assert isinstance(seconds, dict)
        self._ended.update(ended)
        self._seconds.update(seconds)

    def _read_seen(self) -> set[bytes]:
        """Hashes of the inputs that are counted; those of a part that was killed are left out."""
        path = self._path.with_suffix(".seen")
        content = path.read_bytes() if path.exists() else b""
        content = content[: self.done * HASH]
        path.write_bytes(content)
        return {content[k : k + HASH] for k in range(0, len(content), HASH)}

    def add(self, found: Verdict, number: int) -> None:
        """One input more."""
        self.done += 1
        self._ended[f"{found.kind} -> {found.ended}"] += 1
        self._seconds[found.kind] += found.seconds
        self._new.append(bytes.fromhex(found.input))
        if found.wrong:
            self._wrong += 1
            line = {"number": number, "kind": found.kind, "wrong": found.wrong}
            more = {"about": found.about, "err": found.err[-3000:]}
            with self._path.with_suffix(".wrong.jsonl").open("a") as file:
                file.write(json.dumps({**line, **more}) + "\n")

    def write(self, minutes: float) -> None:
        """Replace the file."""
        self._seen.update(self._new)
        with self._path.with_suffix(".seen").open("ab") as file:
            file.write(b"".join(self._new))
        self._new.clear()
        found = {
            **self._about,
            "done": self.done,
            "distinct": len(self._seen),
            "wrong": self._wrong,
            "minutes": round(minutes, 1),
            "ended": dict(sorted(self._ended.items())),
            "seconds": {name: round(s, 1) for name, s in sorted(self._seconds.items())},
        }
        part = self._path.with_suffix(".part")
        part.write_text(json.dumps(found, indent=2) + "\n", "utf-8")
        part.replace(self._path)


def main() -> None:
    """Try inputs until there were enough, or the time is over."""
    asked = _asked()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    part, parts = map(int, asked.part.split("/"))
    about = {"seed": asked.seed, "part": asked.part, "commands": asked.commands}
    counts = Counts(asked.out, about)
    wanted = len(range(part, asked.inputs, parts))
    laboratory = Laboratory(_place(asked.place))
    laboratory.warm_up()
    gc.freeze()  # what is imported stays; nobody need look at it again
    started = written = time.monotonic()
    while counts.done < wanted and time.monotonic() - started < asked.minutes * 60:
        number = part + counts.done * parts
        r = Random(f"{asked.seed} {number}")
        counts.add(laboratory.try_one(kind_of(r, asked.commands), r), number)
        if time.monotonic() - written > EVERY:
            written = time.monotonic()
            counts.write(counts.minutes + (written - started) / 60)
    counts.write(counts.minutes + (time.monotonic() - started) / 60)
    print(asked.out.read_text("utf-8"))


def _place(chosen: Path | None) -> Path:
    """Where files are damaged: in memory, if there is such a place."""
    if chosen:
        chosen.mkdir(parents=True, exist_ok=True)
        return chosen
    return Path(tempfile.mkdtemp(dir=memory()))


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--inputs", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--part", default="0/1", help="K/N: every N-th input from K on")
    parser.add_argument("--commands", type=float, default=COMMANDS, help="their share")
    parser.add_argument("--place", type=Path, help="a folder for the world; it stays")
    parser.add_argument("--out", type=Path, default=Path("fuzz.json"))
    return parser.parse_args()


if __name__ == "__main__":
    main()
