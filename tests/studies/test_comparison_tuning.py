"""A comparison that tunes first: the same effort for every algorithm, on records that no run tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpdl.errors import InputError
from dpdl.studies.comparison_request import make_comparison
from dpdl.studies.comparison_tuning import searches_of, tuned
from dpdl.studies.pool_messages import News
from tests.studies.scored import Scored

SHARED = {
    "dataset": "digits",
    "agents": 3,
    "partition": "iid",
    "rounds": 4,
    "sigma": 2.0,
}


def ignore(name: str, news: News) -> None:
    """Nobody watches."""


def near(best: float) -> Scored:
    """A pool in which the step size that is nearest to `best` scores most."""
    return Scored(lambda run: 1 - abs(run.experiment.lr - best))


def test_every_algorithm_gets_the_best_of_equally_many_trials(tmp_path: Path) -> None:
    c = make_comparison("dpdl-sound,muffliato", 1, SHARED)
    pool = near(0.7)
    found = tuned(c, tmp_path / "c", 4, jobs=1, watch=ignore, pool=pool)
    by_name = {
        name: [
            run.experiment.lr for run in pool.ran if run.experiment.algorithm == name
        ]
        for name in c.own
    }
    for name, tried in by_name.items():
        assert len(tried) == 4
        best = min(tried, key=lambda lr: abs(lr - 0.7))
        assert found.experiment(name).lr == best
        assert found.lr_from(name) == "tuned"
    assert by_name["dpdl-sound"][1:] == by_name["muffliato"][1:], "the same draws"
    assert all(run.held_out for run in pool.ran), "no trial sees a test record"


def test_a_search_that_is_finished_is_found_finished(tmp_path: Path) -> None:
    c = make_comparison("dpdl-sound", 1, SHARED)
    first = tuned(c, tmp_path / "c", 2, jobs=1, watch=ignore, pool=near(0.7))
    assert searches_of(tmp_path / "c") == tmp_path / "c-tuning"
    assert (tmp_path / "c-tuning" / "dpdl-sound" / "result.json").exists()
    again = Scored(lambda run: pytest.fail("run again"))
    assert tuned(c, tmp_path / "c", 2, jobs=1, watch=ignore, pool=again) == first


@pytest.mark.parametrize(
    ("options", "sets", "trials", "hint"),
    [
        ({"lr": 0.3}, [], 4, "leave out the lr of dpdl-sound"),
        ({}, ["muffliato.lr=0.3"], 4, "leave out the lr of muffliato"),
        ({}, [], 1, "at least 2 trials, not 1"),
    ],
)
def test_what_cannot_be_tuned_is_refused(
    tmp_path: Path, options: dict, sets: list[str], trials: int, hint: str
) -> None:
    c = make_comparison("dpdl-sound,muffliato", 1, {**SHARED, **options}, sets)
    with pytest.raises(InputError, match=hint):
        tuned(c, tmp_path / "c", trials, jobs=1, watch=ignore, pool=near(1.0))
    assert not [*tmp_path.iterdir()]


def test_bytes_and_tuning_exclude_each_other(tmp_path: Path) -> None:
    shared = {name: value for name, value in SHARED.items() if name != "rounds"}
    c = make_comparison("dpdl-sound", 1, shared, megabytes=5.0)
    with pytest.raises(InputError, match="--bytes counts later"):
        tuned(c, tmp_path / "c", 2, jobs=1, watch=ignore, pool=near(1.0))


def test_who_watches_hears_of_which_algorithm_a_trial_is(tmp_path: Path) -> None:
    c, heard = make_comparison("dpdl-sound,muffliato", 1, SHARED), []
    tuned(
        *(c, tmp_path / "c", 2),
        jobs=1,
        watch=lambda name, news: heard.append(name),
        pool=near(0.7),
    )
    trials = [f"{name} trial{k}" for name in c.own for k in range(2)]
    assert sorted(set(heard)) == sorted(trials)
