"""Tuning: the best of all trials, its files, and what all of it gives away."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from dpdl.errors import InputError
from dpdl.experiment.experiment import Experiment, load
from dpdl.privacy.epsilon import UNBOUNDED, UNKNOWN, Epsilon
from dpdl.studies.search import make_search
from dpdl.studies.search_records import Composed, SearchResult
from dpdl.studies.tuning import as_toml, composed
from tests.studies.scored import E, Scored, planned, tuned


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def never(*_: object) -> None:
    pytest.fail("asked again")


@pytest.mark.parametrize("sign", [1, -1])
def test_the_score_decides_whatever_the_rounds(sign: int) -> None:
    pool = Scored(lambda run: 0.5 + sign * run.experiment.rounds / 1000)
    result = tuned(make_search(E, "lr", 30, work=4.0), "t", pool)
    assert result.plan == tuple(planned(E))
    tried = {(run.experiment.rounds, run.experiment.batch) for run in pool.ran}
    candidates = {(one.rounds, one.batch) for one in result.plan if one.candidate}
    assert tried == {(8, 32)} | candidates
    assert all(run.until == run.experiment.rounds for run in pool.ran)
    rounds = [run.experiment.rounds for run in pool.ran]
    assert result.best["rounds"] == (max(rounds) if sign == 1 else min(rounds))
    scores = [one.score for one in result.trials]
    assert scores == sorted(scores, reverse=True)
    assert all(one.rounds == one.values["rounds"] for one in result.trials)
    best = load(Path("t/best.toml"), None, {})
    assert {name: getattr(best, name) for name in result.best} == result.best


def test_the_result_is_written_as_it_is_returned() -> None:
    result = tuned(make_search(E, "lr", 2), "t", Scored(lambda run: 0.5))
    found = json.loads(Path("t/result.json").read_text())
    assert found == result.to_json()
    assert SearchResult.from_json(found) == result
    assert list(found) == [
        *("best", "score", "algorithm", "trials", "search", "threat", "warning"),
        *("composed", "out"),
    ]
    assert found["composed"] is None


def test_trials_with_secure_noise_are_composed() -> None:
    secure = replace(E, randomness="secure")
    result = tuned(make_search(secure, "lr", 2), "t", Scored(lambda run: 0.5))
    assert result.composed == Composed(Epsilon(18.0), 2e-5)


def test_a_search_in_which_all_diverged_has_no_best() -> None:
    with pytest.raises(InputError, match="All trials diverged"):
        tuned(make_search(E, "lr", 2), "t", Scored(lambda run: None))
    assert not Path("t/result.json").exists()


def test_a_started_folder_keeps_its_plan_and_takes_more_trials() -> None:
    pool = Scored(lambda run: run.experiment.lr / 1000)
    first = tuned(make_search(E, "lr", 3, work=4.0), "t", pool)
    second = tuned(make_search(E, "lr", 5, work=4.0), "t", pool, planner=never)
    assert second.plan == first.plan
    assert [run.name for run in pool.ran] == [f"trial{k}" for k in range(5)]
    assert all(one in second.trials for one in first.trials)


def test_a_folder_of_another_search_is_refused() -> None:
    pool = Scored(lambda run: 0.5)
    budget, plain = make_search(E, "lr", 1, work=4.0), make_search(E, "lr", 1)
    tuned(budget, "b", pool)
    tuned(plain, "p", pool)
    for s, out, hint in (
        (budget, "p", "for_budget = False, not True"),
        (plain, "b", "for_budget = True, not False"),
        (make_search(E, "lr", 1, work=2.0), "b", "work = 4.0, not 2.0"),
        (make_search(E, "clip", 1, work=4.0), "b", "over = "),
        (make_search(replace(E, batch=16), "lr", 1), "p", "batch = 32, not 16"),
    ):
        with pytest.raises(InputError, match=hint):
            tuned(s, out, pool)
    # A folder from before this option was known goes on.
    about = json.loads(Path("p/tune.json").read_text())
    del about["asked"]["for_budget"]
    Path("p/tune.json").write_text(json.dumps(about))
    tuned(plain, "p", pool)


def test_the_best_experiment_is_written_as_a_file_that_says_the_same() -> None:
    odd = {"graph": 'a "b"\\ü𝄞.txt', "budget": "1,2", "delta": 1e-7}
    e = replace(E, lr=3e-5, sigma=None, **odd)
    Path("e.toml").write_text(as_toml(e), "utf-8")
    assert load(Path("e.toml"), None, {}) == e


def test_a_list_of_texts_is_written_as_toml_has_it() -> None:
    e = Experiment(agents=2, sites=("a.npz", 'b "c".npz'))
    Path("e.toml").write_text(as_toml(e), "utf-8")
    assert load(Path("e.toml"), None, {}) == e


def test_epsilons_add_up_only_when_the_noise_is_independent_and_all_are_bounded() -> (
    None
):
    secure = replace(E, randomness="secure")
    one, more = Epsilon(1.0), Epsilon(2.5)
    assert composed(secure, [one, more]) == Composed(Epsilon(3.5), 2e-5)
    assert composed(E, [one, more]) is None
    assert composed(secure, [one, UNBOUNDED]) is None
    assert composed(secure, [one, UNKNOWN]) is None
