"""The run folder: plain files that other programs may read.

`experiment.json` says what is run, `metrics.jsonl` has one object per evaluated round,
`ledger.jsonl` what left, `summary.json` is the result, `timing.json` says where the time went. A
folder without a summary holds an unfinished run. The checkpoints are in `dpdl.folder.states`, all
names in `dpdl.folder.names`.
"""

from __future__ import annotations

import fcntl
import itertools
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from dpdl import __version__
from dpdl.errors import InputError, RunFailed, reason
from dpdl.experiment.experiment import Experiment, from_mapping
from dpdl.folder import files, litter, names
from dpdl.folder.metrics import Metrics
from dpdl.folder.run_facts import FORMAT, RunFacts
from dpdl.folder.summary import Summary, Timing
from dpdl.foreign import parse_json, read_json, read_text
from dpdl.records import JsonObject

if TYPE_CHECKING:
    from dpdl.folder.checkpoint import Checkpoint


def new_folder(experiment: Experiment, base: Path = Path(names.RUNS)) -> Path:
    """A name for a run that is not taken yet."""
    data = Path(experiment.dataset).stem
    words = [
        experiment.algorithm,
        data,
        Path(experiment.graph).stem,
        str(experiment.agents),
        f"seed{experiment.seed}",
    ]
    name = re.sub(r"[^A-Za-z0-9._-]+", "_", "-".join(words))
    for number in itertools.count(1):
        path = base / (name if number == 1 else f"{name}-{number}")
        if not path.exists():
            return path
    raise AssertionError


class RunFolder:
    """One run on disk: where its files are, what they say, and how they are written."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def create(cls, path: Path, facts: RunFacts) -> RunFolder:
        """A new run; a folder that holds one already is refused."""
        folder = cls(path)
        if folder.started:
            raise InputError(
                f"Folder {str(path)!r} already holds a run; go on with it by --resume (or "
                f"`dpdl resume {path}`), or choose another --out."
            )
        try:
            path.mkdir(parents=True, exist_ok=True)
            files.write_json(folder.experiment_path, facts)
        except OSError as failure:
            raise InputError(
                f"Output folder {str(path)!r} cannot be written: {reason(failure)}."
            ) from failure
        return folder

    # ------------------------------------------------------------------ where
    @property
    def experiment_path(self) -> Path:
        """What is run; the first file of a run."""
        return self.path / names.EXPERIMENT

    @property
    def metrics_path(self) -> Path:
        """One line for every evaluated round."""
        return self.path / names.METRICS

    @property
    def ledger_path(self) -> Path:
        """What left."""
        return self.path / names.LEDGER

    @property
    def partition_path(self) -> Path:
        """How many records of each class each agent holds: private."""
        return self.path / names.PARTITION

    @property
    def summary_path(self) -> Path:
        """The result; the last file of a run."""
        return self.path / names.SUMMARY

    @property
    def curves_path(self) -> Path:
        """The picture of losses and accuracies."""
        return self.path / names.TRAINING_CURVES

    @property
    def audit_path(self) -> Path:
        """What an audit of the run certified."""
        return self.path / names.AUDIT

    @property
    def recording(self) -> Path:
        """The folder of what left in the recorded rounds."""
        return self.path / names.RECORDING

    @property
    def attack(self) -> Path:
        """The folder of what was rebuilt from the recording."""
        return self.path / names.ATTACK

    # ------------------------------------------------------------------ what is run
    @property
    def started(self) -> bool:
        """Whether there is a run."""
        return self.experiment_path.exists()

    @property
    def finished(self) -> bool:
        """Whether the run has ended, and its result is there."""
        return self.summary_path.exists()

    def amend(self, experiment: Experiment) -> None:
        """Write the number of rounds and the sigma that a run goes on with, if they are other ones.

        The run is unfinished then. The file keeps its time, from which other programs count the
        seconds of the run.
        """
        facts = self.read()[1]
        wanted = {"rounds": experiment.rounds, "sigma": experiment.sigma}
        if {name: facts.experiment.get(name) for name in wanted} == wanted:
            return
        path = self.experiment_path
        was = path.stat()
        files.write_json(path, facts.with_options(**wanted))
        os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))
        self.summary_path.unlink(missing_ok=True)

    def read(self) -> tuple[Experiment, RunFacts]:
        """What is run here, and the facts it was started with; another format is refused."""
        facts = self.facts()
        if facts.format != FORMAT:
            found = facts.version or "unknown"
            raise InputError(
                f"Folder {str(self.path)!r} was written by another version of dpdl "
                f"({found}); this is {__version__}, which reads run format {FORMAT}."
            )
        return from_mapping(facts.experiment), facts

    def experiment(self) -> Experiment:
        """What is run here."""
        return self.read()[0]

    def facts(self) -> RunFacts:
        """All that `experiment.json` says, whichever version of dpdl wrote it."""
        content = self._json(self.experiment_path, "no run")
        with self._damaged(self.experiment_path):
            return RunFacts.from_json(content)

    def summary(self) -> Summary:
        """The result of a finished run."""
        content = self._json(self.summary_path, "no finished run")
        with self._damaged(self.summary_path):
            return Summary.from_json(content)

    def _json(self, path: Path, otherwise: str) -> JsonObject:
        """The object in a file; `otherwise` is what a folder without the file holds."""
        try:
            content = read_json(path)
        except OSError as failure:
            raise InputError(
                f"Folder {str(self.path)!r} holds {otherwise}: {path.name}: "
                f"{reason(failure)}."
            ) from failure
        except ValueError as failure:
            raise InputError(f"File {str(path)!r} is damaged: {failure}.") from failure
        if not isinstance(content, dict):
            raise InputError(f"File {str(path)!r} is damaged: it holds no JSON object.")
        return content

    @staticmethod
    @contextmanager
    def _damaged(path: Path) -> Iterator[None]:
        """Name the file whose content is no record."""
        try:
            yield
        except InputError as failure:
            raise InputError(f"File {str(path)!r} is damaged: {failure}") from failure

    # ------------------------------------------------------------------ writing
    @contextmanager
    def writing(self) -> Iterator[None]:
        """One writer at a time, `advising`."""
        path = self.path / names.LOCK
        with files.refusing("Lock", path):
            lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NONBLOCK, 0o644)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with self.advising():
                litter.sweep_run(self.path)
                yield
        except BlockingIOError as failure:
            raise InputError(
                f"Run {str(self.path)!r} is being written by another process."
            ) from failure
        finally:
            os.close(lock)

    @contextmanager
    def advising(self) -> Iterator[None]:
        """A failing disk, or a process that is gone: a `RunFailed` that says what is safe."""
        from dpdl.transport import PeerLost

        try:
            yield
        except PeerLost as failure:
            raise RunFailed(
                f"{failure} What was saved is intact; continue with: dpdl resume "
                f"{self.path}."
            ) from failure
        except OSError as failure:
            raise RunFailed(
                f"Writing to {str(self.path)!r} failed: {reason(failure)}. "
                "What was written before is intact; continue with: dpdl resume "
                f"{self.path}."
            ) from failure

    # ----------------------------------------------------------------- metrics
    def metrics(self) -> list[Metrics]:
        """All evaluated rounds; a line that a crash cut off is left out."""
        with self._damaged(self.metrics_path):
            return [
                Metrics.from_json(parse_json(line), f"line {number}")
                for number, line in enumerate(self._metrics_lines(), 1)
            ]

    def _metrics_lines(self) -> list[str]:
        """Those before the first one that is not whole."""
        if not self.metrics_path.exists():
            return []
        try:
            lines = read_text(self.metrics_path).split("\n")
        except (OSError, ValueError) as failure:
            raise InputError(f"{reason(failure)}.") from failure
        return list(itertools.takewhile(_is_json, lines))

    def append(self, metrics: Metrics) -> None:
        """Add one evaluated round."""
        with self.metrics_path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(metrics.to_json(), allow_nan=False) + "\n")

    def forget_after(self, round: int) -> None:
        """Drop the metrics of rounds that will be run again."""
        pairs = zip(self._metrics_lines(), self.metrics(), strict=True)
        kept = [f"{line}\n" for line, metrics in pairs if metrics.round <= round]
        files.write(self.metrics_path, "".join(kept).encode())

    # ------------------------------------------------------------------- state
    def last(self) -> Checkpoint | None:
        """The last checkpoint that one process wrote for all agents, if there is one."""
        from dpdl.folder.checkpoint import restore

        path = self.path / names.STATE
        return restore(path) if path.exists() else None

    # ----------------------------------------------------------------- summary
    def reopen(self) -> None:
        """A round is about to be made: a result that is there is not the last one."""
        self.summary_path.unlink(missing_ok=True)

    def finish(self, summary: Summary, timing: Timing) -> None:
        """Write the result; the run is complete."""
        files.write_json(self.path / names.TIMING, timing)
        files.write_json(self.summary_path, summary)


def _is_json(line: str) -> bool:
    try:
        parse_json(line)
    except ValueError:
        return False
    return True
