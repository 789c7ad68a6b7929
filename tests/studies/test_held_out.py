"""Records that tuning scores on: a tenth of the training records, and none of the test records."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from dpdl.experiment.experiment import Experiment
from dpdl.studies.held_out import held_out, load_held_out
from dpdl.tasks import data as datasets


def rows(x) -> list[bytes]:
    return sorted(one.numpy().tobytes() for one in x)


def test_held_out_records_are_a_tenth_of_the_training_records_and_no_test_records() -> (
    None
):
    data = datasets.load("digits")
    part = held_out(data, 3)
    tenth = len(data.y) // 10
    assert (len(part.y), len(part.y_test)) == (len(data.y) - tenth, tenth)
    assert sorted(rows(part.x) + rows(part.x_test)) == rows(data.x)
    assert not set(rows(part.x_test)) & set(rows(data.x_test))


def test_the_seed_decides_which_records_are_held_out() -> None:
    data = datasets.load("digits")
    prints = [held_out(data, seed).fingerprint() for seed in (3, 3, 4)]
    assert prints[0] == prints[1] != prints[2]


def test_even_few_records_leave_one_to_score_on() -> None:
    data = datasets.load("digits")
    few = replace(data, x=data.x[:5], y=data.y[:5])
    part = held_out(few, 0)
    assert (len(part.y), len(part.y_test)) == (4, 1)


def test_the_data_set_of_an_experiment_is_read_as_the_experiment_says(
    tmp_path: Path,
) -> None:
    digits = load_held_out(Experiment(dataset="digits", seed=3))
    assert digits.fingerprint() == held_out(datasets.load("digits"), 3).fingerprint()
    path = tmp_path / "own.npz"
    x, y = np.zeros((40, 3), np.float32), np.linspace(0, 1, 40, dtype=np.float32)
    np.savez(path, x=x, y=y, x_test=x[:2], y_test=y[:2])
    own = load_held_out(Experiment(dataset=str(path), predict="numbers"))
    assert (len(own.y), len(own.y_test)) == (36, 4)
