"""Committed results, measured again: `python tools/again.py [--list] [FILE...]`.

Each file of `results/` states the settings of its runs. The first seed of each is run again with
them, in a temporary folder, and its numbers are compared with those of the file: accuracies, sigma,
epsilons and the whole curve. One line per file says:

    same      all numbers are equal
    rounding  a number of the curve or an accuracy differs by one in its last digit
    differs   anything else; then the exit code is 1

Without files, the cells of `SHORT` are taken: all modes, six algorithms, at most three minutes
each. MNIST must be there (`dpdl data fetch mnist`).

Another processor, or another version of torch or numpy, may round differently. To tell that from a
change of the code, measure a cell here with an older checkout, and give its file to this program:

    PYTHONPATH=OLD/src python -m dpdl reproduce --mode sound --cells ... --out T --runs T/runs
    python tools/again.py T/sound/CELL.json
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from dpdl.experiment.experiment import from_mapping
from dpdl.folder.cell_results import CellResult, Curve, SeedResult, read_result
from dpdl.privacy.epsilon import UNKNOWN
from dpdl.records import Json
from dpdl.studies.pool_messages import Ending, EndState, News
from dpdl.studies.reproduce import cell_store, queue
from dpdl.studies.reproduce.queue import CellRun

RESULTS = Path(__file__).parents[1] / "results"
SHORT = (
    "as-published/mnist-complete-10-alpha1-epsilon0.5-dpdl",
    "as-published/mnist-ring-10-alpha0.25-epsilon0.5-dp-dpsgd",
    "as-published/mnist-ring-10-alpha0.25-epsilon0.25-dp-netfleet",
    "as-published/mnist-ring-10-alpha0.25-epsilon0.25-muffliato",
    "algorithm1/mnist-complete-20-alpha0.25-epsilon0.5-dpdl",
    "sound/mnist-ring-10-alpha1-epsilon1-dpdl",
    "sound/mnist-ring-10-alpha1-epsilon1-decor",
    "sound/mnist-ring-10-alpha0.25-epsilon0.25-dp-cga",
    "sound/mnist-bipartite-10-alpha0.25-epsilon1-dp-dpsgd",
    "sound/mnist-ring-10-alpha0.25-epsilon0.5-dp-netfleet",
    "sound/mnist-complete-10-alpha0.25-epsilon0.25-muffliato",
)
NUMBERS = {"accuracy": 0.01, "agents_mean": 0.01, "agents_worst": 0.01, "sigma": 0.0}
COLUMNS = {"loss": 1e-4, "lowest": 1e-4, "highest": 1e-4, "accuracy": 0.01}
"""What is compared, and one in the last digit that files keep."""
MOST = 3
"""Differences that a line shows."""
SAME, ROUNDING, DIFFERS = "same", "rounding", "differs"


class Committed(NamedTuple):
    """The first seed of a committed result."""

    path: Path
    result: CellResult
    seed: str

    @property
    def run(self) -> SeedResult:
        """What the file has."""
        return self.result.runs[self.seed]

    @property
    def label(self) -> str:
        """For people."""
        return f"{self.result.mode}/{self.path.name} seed {self.seed}"

    @property
    def order(self) -> CellRun:
        """The same run once more."""
        e = from_mapping({**self.result.settings, "seed": int(self.seed)})
        return CellRun(self.result.cell, self.result.mode, e.resolved())


def committed(path: Path) -> Committed:
    """The first seed of the result in a file."""
    result = read_result(path)
    if result is None:
        sys.exit(f"error: there is no file {str(path)!r}.")
    return Committed(path, result, min(result.runs, key=int))


# ------------------------------------------------------------------ comparing
class Difference(NamedTuple):
    """A number that is not what it was."""

    what: str
    old: Json
    new: Json
    digit: float = 0.0  # one in the last digit that is kept; 0: all digits are

    @property
    def rounding(self) -> bool:
        """Whether only the last digit differs, by one."""
        if not isinstance(self.old, float) or not isinstance(self.new, float):
            return False
        return abs(self.old - self.new) < 1.5 * self.digit

    def __str__(self) -> str:
        return f"{self.what} {self.old} -> {self.new}"


def differences(before: SeedResult, after: SeedResult) -> Iterator[Difference]:
    """What is not the same; what the file does not have is not compared."""
    for name, digit in NUMBERS.items():
        old, new = getattr(before, name), getattr(after, name)
        if old is not None and old != new:
            yield Difference(name, old, new, digit)
    for threat, epsilon in (before.epsilon or {}).items():
        found = (after.epsilon or {}).get(threat, UNKNOWN)
        if epsilon != found:
            yield Difference(f"epsilon.{threat}", epsilon.to_json(), found.to_json())
    if before.curve is not None:
        yield from curve_differences(before.curve, after.curve)


def curve_differences(before: Curve, after: Curve | None) -> Iterator[Difference]:
    """All numbers of a curve that differ; if its rounds do, nothing else is compared."""
    rounds = after.rounds if after else ()
    if after is None or before.rounds != rounds:
        yield Difference("curve.rounds", list(before.rounds), list(rounds))
        return
    for name, digit in COLUMNS.items():
        pairs = zip(getattr(before, name), getattr(after, name), strict=True)
        for t, (old, new) in zip(rounds, pairs, strict=True):
            if old != new:
                yield Difference(f"curve.{name} in round {t}:", old, new, digit)


def verdict(found: Sequence[Difference]) -> str:
    """One word."""
    if not found:
        return SAME
    return ROUNDING if all(one.rounding for one in found) else DIFFERS


def line(one: Committed, after: SeedResult) -> str:
    """What came out, in one line."""
    found = list(differences(one.run, after))
    shown = [str(difference) for difference in found[:MOST]]
    if len(found) > MOST:
        shown.append(f"{len(found) - MOST} more")
    text = "; ".join(shown) or f"accuracy {after.accuracy}"
    times = f"{after.seconds:.0f} s, {one.run.seconds:.0f} s before"
    return f"{verdict(found):8}  {one.label}: {text} ({times})"


# ------------------------------------------------------------------ running
def measure(chosen: Sequence[Committed], home: Path, jobs: int) -> bool:
    """Run all of them again below a folder; print a line for each; whether none differs."""
    by_name = {one.order.name: one for one in chosen}
    verdicts: dict[str, str] = {}

    def heard(name: str, news: News) -> None:
        if isinstance(news, Ending) and news.state is EndState.DONE:
            one = by_name[name]
            found = cell_store.read(home / "results", one.result.cell, one.result.mode)
            after = found.runs[one.seed]
            print(line(one, after), flush=True)
            verdicts[name] = verdict(list(differences(one.run, after)))

    orders = [one.order for one in chosen]
    endings = queue.perform(orders, home / "results", home / "runs", jobs, None, heard)
    for name, ending in endings.items():
        if ending.state is not EndState.DONE:
            reason = ending.error or "interrupted"
            print(f"{ending.state.value}   {by_name[name].label}: {reason}")
    return len(verdicts) == len(chosen) and DIFFERS not in verdicts.values()


def main(words: Sequence[str] | None = None) -> int:
    """The command; its exit code."""
    parser = argparse.ArgumentParser(
        description="Measure committed results again, and compare all their numbers."
    )
    parser.add_argument("files", nargs="*", type=Path, help="files of results/")
    parser.add_argument(
        "--list", action="store_true", help="only list what would be run"
    )
    parser.add_argument("--jobs", type=int, default=1, help="runs at the same time [1]")
    given = parser.parse_args(words)
    paths = given.files or [RESULTS / f"{name}.json" for name in SHORT]
    chosen = [committed(path) for path in paths]
    if given.list:
        for one in chosen:
            print(f"{one.run.seconds:7.1f} s  {one.label}")
        print(f"{sum(one.run.seconds for one in chosen):7.1f} s  in total")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        return 0 if measure(chosen, Path(folder), given.jobs) else 1


if __name__ == "__main__":
    sys.exit(main())
