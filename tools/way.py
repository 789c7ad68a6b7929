"""The way of a record: `python tools/way.py` lists the modules whose code runs from file to report.

A small data set is written to a file, trained on, and its page is made, under a profiler. A module
counts when one of its functions is called on the way, in the order of the first call; what runs
while modules are imported does not count.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from types import FrameType

import numpy as np

RUN = ["run", "--dataset", "records.npz", "--agents", "3", "--batch", "8"]
RUN += ["--rounds", "3", "--sigma", "1", "--out", "run", "--quiet", "--json"]
REPORT = ["report", "run"]


def importing(frame: FrameType | None) -> bool:
    """Whether a call happens while a module of dpdl is imported."""
    while frame is not None:
        ours = frame.f_globals.get("__name__", "").startswith("dpdl")
        if ours and frame.f_code.co_name == "<module>":
            return True
        frame = frame.f_back
    return False


def visited(words: list[str]) -> list[str]:
    """The modules of dpdl whose functions a command calls, in the order of the first call."""
    found: dict[str, None] = {}

    def watch(frame: FrameType, event: str, _: object) -> None:
        name = frame.f_globals.get("__name__", "")
        new = event == "call" and name.startswith("dpdl.") and name not in found
        if new and not importing(frame):
            found[name] = None

    from dpdl.cli import main

    sys.argv = ["dpdl", *words]
    threading.setprofile(watch)
    sys.setprofile(watch)
    try:
        main()
    except SystemExit as leaving:
        if leaving.code:
            raise
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return list(found)


def rooms(modules: list[str]) -> dict[str, list[str]]:
    """The modules by room, both in the order of the first call."""
    found: dict[str, list[str]] = {}
    for name in modules:
        _, room, *rest = name.split(".")
        found.setdefault(room, []).append(".".join(rest) or room)
    return found


def write_records(path: Path) -> None:
    """Twelve dozen records of two classes."""
    draw = np.random.default_rng(0)
    y = np.arange(144) % 2
    np.savez(path, x=draw.normal(size=(144, 4)).astype(np.float32) + y[:, None], y=y)


def main() -> None:
    """Follow the record in a process per command, and print the modules."""
    if len(sys.argv) > 1:
        print("\n".join(visited(sys.argv[1:])), file=sys.stderr)
        return
    modules: dict[str, None] = {}
    with tempfile.TemporaryDirectory() as home:
        write_records(Path(home) / "records.npz")
        for words in (RUN, REPORT):
            command = [sys.executable, str(Path(__file__).resolve()), *words]
            done = subprocess.run(
                command,
                cwd=home,
                env=os.environ,
                capture_output=True,
                text=True,
                check=True,
            )
            modules |= dict.fromkeys(
                line for line in done.stderr.splitlines() if line.startswith("dpdl.")
            )
    for room, names in rooms(list(modules)).items():
        print(f"{room:12} {len(names):3}  {', '.join(names)}")
    print(f"{'modules':12} {len(modules):3}")


if __name__ == "__main__":
    main()
