"""A run folder is plain files: what they say is read, and what is written is whole."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import dpdl
from dpdl.errors import InputError, RunFailed
from dpdl.experiment.experiment import Experiment
from dpdl.folder import files, names
from dpdl.folder.checkpoint import Checkpoint, store
from dpdl.folder.run_facts import RunFacts
from dpdl.folder.run_folder import RunFolder, new_folder
from dpdl.folder.summary import Timing
from dpdl.transport import PeerLost
from tests.folder.measured import RUN, metrics, summary
from tests.training.small import train


def test_a_folder_says_how_far_its_run_is(blobs, tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "run")
    assert not run.started and not run.finished
    result = train(blobs, out=run.path)
    assert run.started and run.finished
    assert run.experiment() == result.plan.experiment
    assert run.facts().experiment == run.experiment().to_json()
    assert run.summary()["accuracy"] == result.summary["accuracy"]


@pytest.mark.parametrize(
    ("content", "hint"),
    [
        (None, "holds no finished run: summary.json: No such file"),
        ("{", "summary.json' is damaged"),
        ("[]", "summary.json' is damaged: it holds no JSON object"),
        ('{"sigma": NaN}', "summary.json' is damaged: NaN is not JSON"),
    ],
)
def test_a_summary_that_cannot_be_read_is_refused(
    tmp_path: Path, content: str | None, hint: str
) -> None:
    run = RunFolder(tmp_path)
    if content is not None:
        run.summary_path.write_text(content)
    with pytest.raises(dpdl.InputError, match=hint):
        run.summary()


def facts(**options) -> RunFacts:
    experiment = Experiment(dataset="digits", agents=3, rounds=4, **options)
    return RunFacts(format=1, version="0.2.0", experiment=experiment.to_json())


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return RunFolder.create(tmp_path / "a" / "run", facts())


# ------------------------------------------------------------------ names and beginnings
def test_a_new_folder_has_a_name_that_is_free(tmp_path: Path) -> None:
    e = Experiment(dataset="my data/x.npz", graph="ring", agents=3, seed=7)
    first = new_folder(e, tmp_path)
    assert first.name == "dpdl-x-ring-3-seed7"
    first.mkdir()
    assert new_folder(e, tmp_path).name == "dpdl-x-ring-3-seed7-2"
    (tmp_path / "dpdl-x-ring-3-seed7-2").mkdir()
    assert new_folder(e, tmp_path).name == "dpdl-x-ring-3-seed7-3"


def test_a_run_begins_once(run: RunFolder) -> None:
    assert run.started and not run.finished
    assert run.facts() == facts()
    with pytest.raises(
        InputError, match="already holds a run; go on with it by --resume"
    ):
        RunFolder.create(run.path, facts())


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"Output folder .* cannot be written"):
        RunFolder.create(tmp_path / "file" / "run", facts())


@pytest.mark.parametrize("change", [{"format": 2}, {"format": None}])
def test_another_format_is_refused_but_its_facts_are_known(
    run: RunFolder, change: dict
) -> None:
    files.write_json(run.experiment_path, replace(facts(), version="9.9", **change))
    assert run.facts().version == "9.9"
    with pytest.raises(InputError, match=r"another version of dpdl \(9\.9\); this is"):
        run.read()


# ------------------------------------------------------------------ going on
def test_more_rounds_make_a_run_unfinished_and_keep_its_time(run: RunFolder) -> None:
    run.finish(summary(), Timing(2.0, 1.0))
    os.utime(run.experiment_path, (10**9, 10**9))
    run.amend(run.experiment())
    assert run.finished, "nothing has changed"
    run.amend(replace(run.experiment(), rounds=9, sigma=0.5))
    assert not run.finished
    assert run.experiment_path.stat().st_mtime == 10**9
    e = run.experiment()
    assert (e.rounds, e.sigma, e.agents) == (9, 0.5, 3)


def test_the_result_is_read_as_it_was_written(run: RunFolder) -> None:
    run.finish(summary(rounds=3), Timing(2.0, 1.0))
    assert run.summary() == summary(rounds=3)
    timing = (run.path / names.TIMING).read_text()
    assert json.loads(timing) == {"seconds": 2.0, "evaluation": 1.0}


# ------------------------------------------------------------------ metrics
def test_metrics_are_added_line_by_line(run: RunFolder) -> None:
    assert run.metrics() == []
    rounds = [metrics(t, cosine=0.1) for t in (1, 2, 4)]
    for one in rounds:
        run.append(one)
    assert run.metrics() == rounds
    run.metrics_path.write_text(run.metrics_path.read_text()[:-9])
    assert run.metrics() == rounds[:-1], "a crash cut the last line off"


def test_metrics_of_rounds_that_are_run_again_are_dropped(run: RunFolder) -> None:
    for t in (1, 2, 4):
        run.append(metrics(t))
    before = run.metrics_path.read_text().splitlines()
    run.forget_after(2)
    assert run.metrics_path.read_text().splitlines() == before[:2]
    run.forget_after(0)
    assert run.metrics() == []


def test_old_lines_stay_as_they_are(run: RunFolder) -> None:
    stored = (RUN / names.METRICS).read_text()
    run.metrics_path.write_text(stored)
    run.forget_after(4)
    assert run.metrics_path.read_text() == stored


def test_a_line_that_is_no_evaluated_round_is_named(run: RunFolder) -> None:
    run.append(metrics(1))
    with run.metrics_path.open("a") as file:
        file.write('{"round": 2}\n')
    with pytest.raises(InputError, match=r"metrics.jsonl' is damaged: line 2 has no"):
        run.metrics()


# ------------------------------------------------------------------ writing
def test_there_is_one_writer_at_a_time(run: RunFolder) -> None:
    with (
        run.writing(),
        pytest.raises(InputError, match="being written by another process"),
        run.writing(),
    ):
        pass
    with run.writing():
        assert (run.path / names.LOCK).exists()


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (OSError(28, "No space left on device"), "failed: No space left on device"),
        (PeerLost(2), r"Process 2 of this run has gone away\. What was saved is"),
    ],
)
def test_a_failure_says_how_to_go_on(run: RunFolder, failure, words: str) -> None:
    with pytest.raises(RunFailed, match=words) as told, run.advising():
        raise failure
    assert f"continue with: dpdl resume {run.path}" in str(told.value)


def test_the_last_checkpoint_is_that_of_all_agents(run: RunFolder) -> None:
    assert run.last() is None
    rows = {"x": torch.zeros(3, 2)}
    totals = torch.zeros(3, 2, dtype=torch.int64)
    store(run.path / names.STATE, Checkpoint(5, 1.0, rows, totals))
    assert run.last().round == 5
