"""The run folder: plain files that other programs may read.

`experiment.json` says what is run, `metrics.jsonl` has one object per evaluated round, `ledger.jsonl` what left,
`summary.json` is the result, `timing.json` says where the time went. A folder without a summary holds an unfinished
run. The checkpoints are in `dpdl.run.states`.
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
from typing import Any

from dpdl import __version__
from dpdl.errors import InputError, RunFailed
from dpdl.run import files
from dpdl.run.checkpoint import Checkpoint, restore
from dpdl.run.experiment import Experiment, from_mapping
from dpdl.run.states import WHOLE
from dpdl.transport import PeerLost

FORMAT = 1


def new_folder(experiment: Experiment, base: Path = Path("runs")) -> Path:
    """A name for a run that is not taken yet."""
    data = Path(experiment.dataset).stem
    words = [experiment.algorithm, data, Path(experiment.graph).stem, str(experiment.agents), f"seed{experiment.seed}"]
    name = re.sub(r"[^A-Za-z0-9._-]+", "_", "-".join(words))
    for number in itertools.count(1):
        path = base / (name if number == 1 else f"{name}-{number}")
        if not path.exists():
            return path
    raise AssertionError


class RunFolder:
    """One run on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._metrics = path / "metrics.jsonl"

    @classmethod
    def create(cls, path: Path, facts: dict[str, Any], experiment: Experiment) -> RunFolder:
        """A new run; a folder that holds one already is refused."""
        if cls(path).exists():
            raise InputError(
                f"Folder {str(path)!r} already holds a run; continue it with `dpdl resume {path}` or choose another "
                "--out."
            )
        try:
            path.mkdir(parents=True, exist_ok=True)
            header = {"format": FORMAT, "version": __version__, **facts}
            files.write_json(path / "experiment.json", {**header, "experiment": experiment.as_dict()})
        except OSError as failure:
            raise InputError(f"Output folder {str(path)!r} cannot be written: {failure.strerror}.") from failure
        return cls(path)

    def exists(self) -> bool:
        """Whether there is a run."""
        return (self.path / "experiment.json").exists()

    def amend(self, experiment: Experiment) -> None:
        """Write the number of rounds and the sigma that a run goes on with, if they are other ones; it is unfinished.

        The file keeps its time, from which other programs count the seconds of the run.
        """
        path, (_, content) = self.path / "experiment.json", self.read()
        asked = {"rounds": experiment.rounds, "sigma": experiment.sigma}
        if {name: content["experiment"].get(name) for name in asked} == asked:
            return
        was = path.stat()
        files.write_json(path, {**content, "experiment": {**content["experiment"], **asked}})
        os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))
        self.summary_path.unlink(missing_ok=True)

    def read(self) -> tuple[Experiment, dict[str, Any]]:
        """What is run here, and the facts it was started with."""
        path = self.path / "experiment.json"
        try:
            content = json.loads(path.read_text("utf-8"))
        except OSError as failure:
            raise InputError(f"Folder {str(self.path)!r} holds no run: {path.name}: {failure.strerror}.") from failure
        except ValueError as failure:
            raise InputError(f"File {str(path)!r} is damaged: {failure}.") from failure
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            found = content.get("version", "unknown") if isinstance(content, dict) else "unknown"
            raise InputError(
                f"Folder {str(self.path)!r} was written by another version of dpdl ({found}); "
                f"this is {__version__}, which reads run format {FORMAT}."
            )
        return from_mapping(content["experiment"]), content

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One writer at a time, `advising`."""
        lock = os.open(self.path / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with self.advising():
                yield
        except BlockingIOError as failure:
            raise InputError(f"Run {str(self.path)!r} is being written by another process.") from failure
        finally:
            os.close(lock)

    @contextmanager
    def advising(self) -> Iterator[None]:
        """A failing disk, or a process that is gone, becomes a `RunFailed` that says what is safe."""
        try:
            yield
        except PeerLost as failure:
            raise RunFailed(f"{failure} What was saved is intact; continue with: dpdl resume {self.path}.") from failure
        except OSError as failure:
            raise RunFailed(
                f"Writing to {str(self.path)!r} failed: {failure.strerror or failure}. What was written before is "
                f"intact; continue with: dpdl resume {self.path}."
            ) from failure

    # ----------------------------------------------------------------- metrics
    def metrics(self) -> list[dict[str, Any]]:
        """All recorded rounds; a line that a crash cut off is left out."""
        if not self._metrics.exists():
            return []
        found = []
        for line in self._metrics.read_text("utf-8").splitlines():
            try:
                found.append(json.loads(line))
            except ValueError:
                break
        return found

    def append(self, metrics: dict[str, Any]) -> None:
        """Add one evaluated round."""
        with self._metrics.open("a", encoding="utf-8") as file:
            file.write(json.dumps(metrics, allow_nan=False) + "\n")

    def forget_after(self, round: int) -> None:
        """Drop the metrics of rounds that will be run again."""
        kept = [json.dumps(m) + "\n" for m in self.metrics() if m["round"] <= round]
        files.write(self._metrics, "".join(kept).encode())

    # ------------------------------------------------------------------- state
    def last(self) -> Checkpoint | None:
        """The last checkpoint that one process wrote for all agents, if there is one."""
        path = self.path / WHOLE
        return restore(path) if path.exists() else None

    # ----------------------------------------------------------------- summary
    @property
    def summary_path(self) -> Path:
        """Where the result is written."""
        return self.path / "summary.json"

    def finish(self, summary: dict[str, Any], timing: dict[str, float]) -> None:
        """Write the result; the run is complete."""
        files.write_json(self.path / "timing.json", timing)
        files.write_json(self.summary_path, summary)
