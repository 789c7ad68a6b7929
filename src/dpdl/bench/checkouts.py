"""Two checkouts of dpdl, measured in turn: how much faster or slower one is than the other.

Numbers of different hours cannot be compared, not even on one machine. So each repeat runs a
benchmark of both checkouts one after the other, and the next repeat in the other order. A ratio is
the median over the repeats of old / new. Ways that are not ours (torch.func, Opacus, a plain
backward pass) are the same code in both: how far their ratios are from 1 is the error of all.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol, final

import dpdl
from dpdl.errors import InputError, RunFailed
from dpdl.folder.bench_results import (
    CheckoutRatios,
    GradientSpeeds,
    RoundCosts,
    SpeedRatio,
)
from dpdl.foreign import parse_json
from dpdl.records import Json

OLD, NEW = "old", "new"
THIS = Path(dpdl.__file__).parents[2]
"""The checkout that this code is from."""


class Quantity(NamedTuple):
    """What a number of a benchmark is about."""

    bench: str
    what: str
    unit: str


Numbers = Mapping[Quantity, float]


@final
@dataclass(frozen=True)
class BenchCommand:
    """A benchmark, as both checkouts know it."""

    bench: str  # such as `gradients`
    options: tuple[str, ...] = ()

    def numbers(self, content: Json) -> Numbers:
        """Those that are compared, of what the command printed."""
        return READERS[self.bench](content)


def _of_gradients(content: Json) -> Numbers:
    ways = GradientSpeeds.from_json(content, "bench gradients").us_per_sample
    return {
        Quantity("gradients", name, "us per sample"): us
        for name, us in ways.items()
        if us is not None
    }


def _of_rounds(content: Json) -> Numbers:
    found: dict[Quantity, float] = {}
    for row in RoundCosts.from_json(content, "bench rounds").rows:
        what = f"{row.algorithm}, {row.graph} of {row.agents}"
        found[Quantity("rounds", what, "s per round")] = row.seconds_per_round
        found[Quantity("rounds", what, "MB")] = row.peak_memory_mb
    return found


READERS: dict[str, Callable[[Json], Numbers]] = {
    "gradients": _of_gradients,
    "rounds": _of_rounds,
}


class Measure(Protocol):
    """How a benchmark of a checkout is run."""

    def __call__(self, checkout: Path, command: BenchCommand) -> Json:
        """What it printed as JSON."""
        ...


# ------------------------------------------------------------------ measuring
def compare_checkouts(
    old: Path,
    new: Path,
    commands: Sequence[BenchCommand],
    repeats: int,
    begin: Callable[[int, str, str], None],
    measure: Measure | None = None,
) -> CheckoutRatios:
    """Run all commands of both checkouts so many times, interleaved.

    `begin` is called before each with the repeat, `old` or `new`, and the name of the benchmark.
    """
    run = measure or measure_checkout
    folders = {OLD: old, NEW: new}
    found: dict[str, list[Numbers]] = {OLD: [], NEW: []}
    for repeat in range(repeats):
        numbers: dict[str, dict[Quantity, float]] = {OLD: {}, NEW: {}}
        for command in commands:
            for whose in in_turn(repeat):
                begin(repeat, whose, command.bench)
                numbers[whose] |= command.numbers(run(folders[whose], command))
        for whose, measured in numbers.items():
            found[whose].append(measured)
    rows = tuple(ratios(found[OLD], found[NEW]))
    return CheckoutRatios(commit_of(old), commit_of(new), repeats, rows)


def in_turn(repeat: int) -> tuple[str, str]:
    """Who is first changes with every repeat, so that a drift of the machine favours nobody."""
    return (NEW, OLD) if repeat % 2 else (OLD, NEW)


def ratios(old: Sequence[Numbers], new: Sequence[Numbers]) -> list[SpeedRatio]:
    """Medians of both, and of old / new within the repeats."""
    first = old[0]
    only_one = set(first) ^ set(new[0])
    if only_one:
        quantity = min(only_one)
        missing = OLD if quantity in new[0] else NEW
        raise InputError(
            f"The {missing} checkout does not measure {quantity.what!r} of bench "
            f"{quantity.bench}. If it is 'fused', compile its kernels: python setup.py "
            "build_ext --inplace."
        )
    return [
        SpeedRatio(
            *quantity,
            old=statistics.median(one[quantity] for one in old),
            new=statistics.median(one[quantity] for one in new),
            ratio=statistics.median(
                a[quantity] / b[quantity] for a, b in zip(old, new, strict=True)
            ),
        )
        for quantity in first
    ]


# ------------------------------------------------------------------ checkouts
def measure_checkout(checkout: Path, command: BenchCommand) -> Json:
    """Run a benchmark of a checkout in a process of its own; nothing is added to a history."""
    arguments = ["-m", "dpdl", "bench", command.bench, *command.options, "--json"]
    with tempfile.TemporaryDirectory() as folder:
        done = _python(checkout, arguments, Path(folder))
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        reason = lines[-1] if lines else f"exit code {done.returncode}"
        raise RunFailed(f"bench {command.bench} of {str(checkout)!r}: {reason}")
    try:
        return parse_json(done.stdout)
    except ValueError as failure:
        raise RunFailed(
            f"bench {command.bench} of {str(checkout)!r} printed no JSON: {failure}."
        ) from failure


def refuse_no_checkout(checkout: Path) -> None:
    """A folder from which Python would not import dpdl is refused."""
    source = Path(os.path.realpath(checkout / "src"))
    code = "import dpdl, pathlib; print(pathlib.Path(dpdl.__file__).parents[1])"
    done = _python(checkout, ["-c", code], Path.cwd())
    if done.returncode or Path(os.path.realpath(done.stdout.strip())) != source:
        raise InputError(
            f"{str(checkout)!r} is no checkout of dpdl: Python does not import dpdl "
            f"from {str(source)!r}."
        )


def _python(
    checkout: Path, arguments: Sequence[str], folder: Path
) -> subprocess.CompletedProcess[str]:
    """This interpreter, with the code of a checkout."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.path.realpath(checkout / "src")},
        capture_output=True,
        text=True,
        check=False,
    )


def commit_of(checkout: Path) -> str:
    """The commit of a checkout, marked if files are changed; the folder's name without git."""
    command = ["git", "-C", str(checkout), "describe", "--always", "--dirty"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return Path(os.path.realpath(checkout)).name
    return done.stdout.strip()
