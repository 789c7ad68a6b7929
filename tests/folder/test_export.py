"""Metrics for other programs, while a run goes on and afterwards."""

from __future__ import annotations

import csv
import json
import math
import os
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import dpdl
from dpdl.errors import InputError, RunFailed
from dpdl.folder.export import Table, Tracker, export, formats_in, scalars
from dpdl.tasks.data import Dataset
from tests.commands import DIGITS
from tests.commands import dpdl as command
from tests.conftest import small_module
from tests.reference.events import events

SMALL = dpdl.Experiment(
    dataset="digits", graph="ring", agents=4, rounds=8, batch=8, lr=0.1, clip=1.0, sigma=0.5, alpha_d=1.0,
    eval_every=2, checkpoint_every=3, partition="dirichlet-agent",
)  # fmt: skip
BOTH = ["csv", "tensorboard"]
ALLOWED = "Allowed: csv, mlflow, tensorboard, trackio, wandb"


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RANK", raising=False)


@pytest.fixture
def run(blobs: Dataset, tmp_path: Path) -> Path:
    """A finished run that nobody tracked."""
    train(blobs, tmp_path / "run")
    return tmp_path / "run"


def train(blobs: Dataset, out: Path, **more):
    return dpdl.train(SMALL, data=blobs, model=small_module(), out=out, **more)


def go_on(blobs: Dataset, out: Path, **more):
    return dpdl.resume(out, data=blobs, model=small_module(), **more)


def lines(run: Path) -> list[dict[str, Any]]:
    return [
        json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()
    ]


def flat(value: Any, name: str = "") -> dict[str, float]:
    """All numbers below a value by their path: a second way to the same."""
    if isinstance(value, dict):
        return {
            k: v
            for part, inner in value.items()
            for k, v in flat(inner, f"{name}/{part}").items()
        }
    return {name[1:]: value} if isinstance(value, int | float) else {}


def table(path: Path) -> list[dict[str, float]]:
    """A CSV file without its empty cells."""
    text = path.read_text("utf-8")
    assert text.endswith("\n")
    found = list(csv.DictReader(text.splitlines(), strict=True))
    assert all(None not in row and None not in row.values() for row in found)
    return [{name: float(cell) for name, cell in row.items() if cell} for row in found]


def shown(folder: Path) -> dict[int, dict[str, float]]:
    """What TensorBoard shows: a start makes it forget its step and later ones."""
    found: dict[int, dict[str, float]] = {}
    for path in sorted(folder.iterdir()):
        for event in events(path):
            if "session" in event:
                found = {t: values for t, values in found.items() if t < event["step"]}
            elif "values" in event:
                assert event["step"] not in found, "a round appears twice"
                found[event["step"]] = event["values"]
    return found


def singles(rows: list[dict[str, Any]]) -> dict[int, dict[str, float]]:
    """Metrics as TensorBoard has them."""
    numbers = {
        row["round"]: flat({k: v for k, v in row.items() if k != "round"})
        for row in rows
    }
    return {
        t: {k: struct.unpack("<f", struct.pack("<f", v))[0] for k, v in values.items()}
        for t, values in numbers.items()
    }


def agree(run: Path) -> None:
    """Both formats say what metrics.jsonl says."""
    assert table(run / "metrics.csv") == [flat(row) for row in lines(run)]
    assert shown(run / "tensorboard") == singles(lines(run))


# ---------------------------------------------------------------- numbers and tables
def test_scalars_are_the_finite_numbers_by_their_path() -> None:
    metrics = {
        "round": 3, "accuracy": {"mean": 0.5, "deep": {"er": 1}}, "epsilon": "unbounded", "loss": None,
        "nan": math.nan, "inf": math.inf, "many": [1, 2], "zero": 0,
    }  # fmt: skip
    assert scalars(metrics) == {
        "round": 3,
        "accuracy/mean": 0.5,
        "accuracy/deep/er": 1,
        "zero": 0,
    }


def test_a_table_is_extended_by_late_columns_and_keeps_every_digit(
    tmp_path: Path,
) -> None:
    path = tmp_path / "new" / "t.csv"
    sink = Table(path)
    sink.add([{"round": 1, "a": 0.1}, {"round": 2, "a,b": 1 / 3}])
    assert path.read_bytes() == b'round,a,"a,b"\n1,0.1,\n2,,0.3333333333333333\n'
    sink.add([{"round": 3, "late": 47980080, "a": 2e-30}])
    assert (
        path.read_bytes()
        == b'round,a,"a,b",late\n1,0.1,,\n2,,0.3333333333333333,\n3,2e-30,,47980080\n'
    )
    sink.add([{"round": 4}])
    assert path.read_bytes().endswith(b"\n3,2e-30,,47980080\n4,,,\n")


def test_a_table_that_has_its_columns_only_grows(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    sink = Table(path)
    sink.add([{"round": 1, "a": 1.0}])
    same = path.stat().st_ino
    sink.add([{"round": 2, "a": 2.0}])
    assert path.stat().st_ino == same
    assert table(path) == [{"round": 1, "a": 1.0}, {"round": 2, "a": 2.0}]


def test_a_column_that_cannot_be_added_leaves_the_old_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.csv"
    sink = Table(path)
    sink.add([{"round": 1}])

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        sink.add([{"round": 2, "a": 1.0}])
    assert path.read_bytes() == b"round\n1\n"
    assert list(tmp_path.iterdir()) == [path]


# ---------------------------------------------------------------- while a run goes on
@pytest.mark.parametrize("placement", ["alone", "threads:2"])
def test_every_evaluated_round_is_on_disk_before_the_next_one(
    blobs: Dataset, tmp_path: Path, placement: str
) -> None:
    out, seen = tmp_path / "run", []
    tracker = Tracker(out, BOTH)

    def watch(t: int, metrics: dict[str, Any] | None) -> None:
        tracker(t, metrics)
        agree(out)
        seen.append(len(table(out / "metrics.csv")))

    train(blobs, out, watch=watch, placement=placement)
    assert seen == [1, 2, 2, 3, 3, 4, 4, 5]
    assert len(list((out / "tensorboard").iterdir())) == 1
    same = (out / "metrics.csv").stat().st_ino
    tracker.finish()
    assert (out / "metrics.csv").stat().st_ino == same, "all was written already"
    assert {"accuracy/worst", "accuracy/average_model", "train_loss/mean", "consensus_distance", "bytes_sent",
            "clip_fraction", "coefficient", "seconds"} <= set(table(out / "metrics.csv")[0])  # fmt: skip


def test_only_what_was_asked_for_is_written(blobs: Dataset, tmp_path: Path) -> None:
    for name, other in (BOTH, BOTH[::-1]):
        names = {"csv": "metrics.csv", "tensorboard": "tensorboard"}
        train(blobs, tmp_path / name, watch=Tracker(tmp_path / name, [name]))
        assert (tmp_path / name / names[name]).exists()
        assert not (tmp_path / name / names[other]).exists()


class Killed(BaseException):
    """Nothing after it is run."""


def killed_in(round: int, tracker: Tracker, before: bool = False):
    def watch(t: int, metrics: dict[str, Any] | None) -> None:
        if t == round and before:
            raise Killed
        tracker(t, metrics)
        if t == round:
            raise Killed

    return watch


def test_a_resumed_run_goes_on_without_repeating_or_contradicting(
    blobs: Dataset, tmp_path: Path
) -> None:
    """Killed after round 5, its checkpoint is that of round 3: round 4 was written, and is run again."""
    out = tmp_path / "run"
    with pytest.raises(Killed):
        train(blobs, out, watch=killed_in(5, Tracker(out, BOTH)))
    assert list(shown(out / "tensorboard")) == [1, 2, 4]
    go_on(blobs, out, watch=Tracker(out, BOTH))
    agree(out)
    _, second = sorted((out / "tensorboard").iterdir())
    assert min(event["step"] for event in events(second)[1:]) >= 4


def test_a_round_that_was_saved_but_not_yet_tracked_is_not_lost(
    blobs: Dataset, tmp_path: Path
) -> None:
    """Round 6 is evaluated and in the checkpoint when the process dies."""
    out = tmp_path / "run"
    with pytest.raises(Killed):
        train(blobs, out, watch=killed_in(6, Tracker(out, BOTH), before=True))
    go_on(blobs, out, watch=Tracker(out, BOTH))
    assert list(shown(out / "tensorboard")) == [1, 2, 4, 6, 8]
    agree(out)


def test_a_run_can_be_tracked_from_its_middle(blobs: Dataset, tmp_path: Path) -> None:
    out = tmp_path / "run"
    with pytest.raises(Killed):
        train(blobs, out, watch=killed_in(5, Tracker(out, [])))
    go_on(blobs, out, watch=Tracker(out, BOTH))
    agree(out)


def test_a_finished_run_has_nothing_to_watch_and_is_written_anyway(run: Path) -> None:
    assert not (run / "metrics.csv").exists() and not (run / "tensorboard").exists()
    Tracker(run, BOTH).finish()
    assert list(shown(run / "tensorboard")) == [1, 2, 4, 6, 8]
    agree(run)


def test_a_tracker_that_cannot_write_ends_the_run_and_keeps_it(
    blobs: Dataset, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    out.mkdir()
    (out / "tensorboard").write_text("in the way")
    with pytest.raises(RunFailed, match="File exists"):
        train(blobs, out, watch=Tracker(out, ["tensorboard"]))
    go_on(blobs, out)
    assert (out / "summary.json").exists()


# ---------------------------------------------------------------- afterwards
def test_export_says_what_a_tracked_run_says(
    blobs: Dataset, run: Path, tmp_path: Path
) -> None:
    assert export(run, "csv") == run / "metrics.csv"
    assert export(run, "tensorboard") == run / "tensorboard"
    agree(run)
    out = tmp_path / "tracked"
    train(blobs, out, watch=Tracker(out, BOTH))
    export(out, "csv", tmp_path / "elsewhere.csv")
    export(out, "tensorboard", tmp_path / "elsewhere")
    assert (tmp_path / "elsewhere.csv").read_bytes() == (
        out / "metrics.csv"
    ).read_bytes()
    (here,), (there,) = ((folder / "tensorboard" if folder == out else folder).iterdir()
                         for folder in (out, tmp_path / "elsewhere"))  # fmt: skip
    assert here.read_bytes() == there.read_bytes()


def test_export_again_changes_nothing(run: Path) -> None:
    for name in BOTH * 2:
        export(run, name)
    agree(run)
    assert len(list((run / "tensorboard").iterdir())) == 1


def test_times_count_from_the_start_of_the_run(run: Path) -> None:
    os.utime(run / "experiment.json", (0, 1000))
    export(run, "tensorboard")
    (path,) = (run / "tensorboard").iterdir()
    assert [event["time"] for event in events(path)[2:]] == [
        1000 + row["seconds"] for row in lines(run)
    ]


def test_an_unfinished_run_with_half_a_line_is_exported(run: Path) -> None:
    (run / "summary.json").unlink()
    content = (run / "metrics.jsonl").read_bytes()
    (run / "metrics.jsonl").write_bytes(content[:-9])
    for name in BOTH:
        export(run, name)
    assert [row["round"] for row in table(run / "metrics.csv")] == [1, 2, 4, 6]
    assert list(shown(run / "tensorboard")) == [1, 2, 4, 6]


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize(
    ("content", "hint"),
    [
        (b"", "no evaluated round"),
        (b"[1]\n", "line 1 must be an object"),
        (b"\xff\xff\n", "is not a text file"),
        (b'{"seconds": 1}\n', "is damaged: line 1 has no"),
        (b'{"round": -1, "seconds": 1}\n', "is damaged: line 1 has no"),
        (b'{"round": 1}\n', "is damaged: line 1 has no"),
    ],
)
def test_damaged_metrics_are_refused(
    run: Path, name: str, content: bytes, hint: str
) -> None:
    (run / "metrics.jsonl").write_bytes(content)
    with pytest.raises(InputError, match=hint):
        export(run, name)
    assert not (run / "metrics.csv").exists() and not (run / "tensorboard").exists()


# ---------------------------------------------------------------- commands
def test_formats_are_a_list_with_commas() -> None:
    assert formats_in(None) == []
    assert formats_in("csv") == ["csv"]
    assert formats_in("tensorboard, csv,csv") == ["tensorboard", "csv"]


def test_formats_and_trackers_may_be_asked_for_together() -> None:
    assert formats_in("mlflow,csv, wandb") == ["mlflow", "csv", "wandb"]


def test_run_resume_and_export_track(monkeypatch, capsys) -> None:
    words = [
        "run",
        *DIGITS,
        "--rounds",
        "4",
        "--eval-every",
        "2",
        "--quiet",
        "--json",
        "--out",
        "r",
    ]
    code, out, _ = command(monkeypatch, capsys, *words, "--track", "csv,tensorboard")
    assert code == 0 and json.loads(out)["rounds"] == 4
    agree(Path("r"))
    Path("r/metrics.csv").unlink()
    assert (
        command(
            monkeypatch, capsys, "resume", "r", "--track", "csv", "--quiet", "--json"
        )[0]
        == 0
    )
    agree(Path("r"))
    code, out, _ = command(monkeypatch, capsys, "export", "r", "--out", "x/y.csv")
    assert code == 0 and "x/y.csv" in out
    assert Path("x/y.csv").read_bytes() == Path("r/metrics.csv").read_bytes()
    assert (
        command(
            monkeypatch, capsys, "export", "r", "--to", "tensorboard", "--out", "tb"
        )[0]
        == 0
    )
    assert shown(Path("tb")) == shown(Path("r/tensorboard"))


def test_a_killed_run_leaves_whole_lines_and_whole_events(monkeypatch, capsys) -> None:
    quick = [
        "--dataset",
        "digits",
        "--agents",
        "5",
        "--batch",
        "8",
        "--noise",
        "none",
        "--quiet",
    ]
    often = ["--rounds", "150", "--eval-every", "1", "--checkpoint-every", "7"]
    words = ["run", *quick, *often, "--out", "r", "--track", "csv,tensorboard"]
    path, began = Path("r/metrics.csv"), time.monotonic()
    with subprocess.Popen([sys.executable, "-m", "dpdl", *words]) as process:
        while not path.exists() or path.read_bytes().count(b"\n") < 20:
            assert process.poll() is None and time.monotonic() < began + 100
            time.sleep(0.01)
        process.kill()
    assert not Path("r/summary.json").exists()
    rounds = [row["round"] for row in table(path)]
    assert rounds == list(range(1, len(rounds) + 1))
    assert list(shown(Path("r/tensorboard"))) in (rounds, rounds[:-1])
    words = ["resume", "r", "--track", "tensorboard,csv", "--quiet", "--json"]
    assert command(monkeypatch, capsys, *words)[0] == 0
    agree(Path("r"))
    assert len(lines(Path("r"))) == 150


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (
            ["run", *DIGITS, "--quiet", "--track", "tensorbord"],
            "Did you mean 'tensorboard'",
        ),
        (["run", *DIGITS, "--quiet", "--track", "csv,cvs"], "Did you mean 'csv'"),
        (["run", *DIGITS, "--quiet", "--track", "csv,"], ALLOWED),
        (["run", *DIGITS, "--quiet", "--track", ""], ALLOWED),
        (["resume", "run", "--quiet", "--track", "comet"], ALLOWED),
        (["export", "run", "--to", "wandb"], "Allowed: csv, model, tensorboard"),
        (["export", "run", "--to", "tensorbord"], "Did you mean 'tensorboard'"),
        (["export", "nowhere"], "holds no run"),
        (["export", "nowhere", "--to", "tensorboard"], "holds no run"),
        (["export", "."], "holds no run"),
        (["export", "run", "--out", "/proc/nothing/x.csv"], "cannot be written"),
        (["export", "run", "--out", "run"], "cannot be written: Is a directory"),
        (
            ["export", "run", "--to", "tensorboard", "--out", "/proc/nothing"],
            "cannot be written",
        ),
        (
            ["export", "run", "--to", "tensorboard", "--out", "run/summary.json"],
            "cannot be written: File exists",
        ),
        (["export"], "RUN"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_input_gets_one_sentence_and_exit_code_2(
    run, monkeypatch, capsys, words: list[str], hint: str
) -> None:
    before = sorted(path.name for path in [*run.iterdir(), *Path().iterdir()])
    code, out, err = command(monkeypatch, capsys, *words)
    assert (code, out) == (2, "")
    assert err.startswith("error: ") and err.count("\n") == 1
    assert hint in err
    assert sorted(path.name for path in [*run.iterdir(), *Path().iterdir()]) == before
