"""Trials climb rung by rung, and every score is in the file as soon as it is known."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from dpdl.errors import InputError, RunFailed
from dpdl.privacy.epsilon import Epsilon
from dpdl.studies.pool_messages import Ending, EndState, News, PooledRun
from dpdl.studies.search import Search, make_search
from dpdl.studies.trials import Trials
from dpdl.training.interrupt import Interrupted
from tests.studies.scored import E, Scored

LONG = replace(E, rounds=9)


def silent(name: str, news: News) -> None:
    pass


def halving(trials: int) -> Search:
    return make_search(LONG, "lr", trials, "halving")


def by_lr(run: PooledRun) -> float:
    """A score: the larger the step, the better."""
    return float(run.experiment.lr) / 1000


def lines(out: Path) -> list[dict]:
    return [
        json.loads(line) for line in (out / "trials.jsonl").read_text().splitlines()
    ]


def test_each_rung_keeps_the_best_third(tmp_path: Path) -> None:
    pool = Scored(by_lr)
    trials = Trials(halving(6), tmp_path)
    trials.climb(None, silent, pool)
    assert [run.until for run in pool.ran] == [1] * 6 + [3] * 2 + [9]
    best = sorted(range(6), key=lambda k: -by_lr(pool.ran[k]))
    assert [run.name for run in pool.ran[6:]] == [
        *(f"trial{k}" for k in best[:2]),
        f"trial{best[0]}",
    ]
    assert [one.trial for one in trials.ranked()] == best
    assert [one.rounds for one in trials.ranked()] == [9, 3, 1, 1, 1, 1]
    assert all(run.held_out for run in pool.ran)
    assert all(run.experiment.rounds == 9 for run in pool.ran)


def test_what_was_scored_is_not_run_again(tmp_path: Path) -> None:
    first = Trials(halving(3), tmp_path)
    first.climb(None, silent, Scored(by_lr))
    pool = Scored(lambda run: pytest.fail("run again"))
    again = Trials(halving(3), tmp_path)
    again.climb(None, silent, pool)
    assert again.every == first.every


def test_a_trial_that_diverged_is_last_whatever_the_others_score(
    tmp_path: Path,
) -> None:
    def score(run: PooledRun) -> float | None:
        return None if run.name == "trial1" else 0.0

    trials = Trials(make_search(LONG, "lr", 3), tmp_path)
    trials.climb(None, silent, Scored(score))
    assert [one.trial for one in trials.ranked()] == [0, 2, 1]
    diverged = trials.every[1]
    assert diverged.scored(9) and diverged.score(9) is None
    assert diverged.error == "Training diverged."


def test_every_ending_is_written_and_passed_on(tmp_path: Path) -> None:
    heard: list[tuple[str, int]] = []

    def watch(name: str, news: News) -> None:
        known = [one for one in lines(tmp_path) if one["scores"]]
        heard.append((name, len(known)))

    Trials(make_search(LONG, "lr", 3), tmp_path).climb(None, watch, Scored(by_lr))
    assert heard == [("trial0", 1), ("trial1", 2), ("trial2", 3)]
    first = lines(tmp_path)[0]
    assert list(first) == [
        *("trial", "values", "scores", "epsilon", "epsilon_all_rounds", "error")
    ]
    assert list(first["scores"]) == ["9"]
    assert (first["epsilon"], first["epsilon_all_rounds"]) == (9.0, 9.0)


def test_trials_of_a_longer_search_stay_in_the_file(tmp_path: Path) -> None:
    Trials(make_search(LONG, "lr", 4), tmp_path).climb(None, silent, Scored(by_lr))
    before = lines(tmp_path)
    fewer = Trials(make_search(LONG, "lr", 2), tmp_path)
    assert len(fewer.every) == 2
    before[0]["scores"] = {}
    text = "".join(json.dumps(one) + "\n" for one in before)
    (tmp_path / "trials.jsonl").write_text(text)
    fewer = Trials(make_search(LONG, "lr", 2), tmp_path)
    fewer.climb(None, silent, Scored(by_lr))
    assert [one["trial"] for one in lines(tmp_path)] == [0, 1, 2, 3]
    assert lines(tmp_path)[2:] == before[2:]


@pytest.mark.parametrize(
    ("ending", "error", "hint"),
    [
        (Ending(EndState.INTERRUPTED), Interrupted, "continue with the same command"),
        (Ending(EndState.FAILED, error="No space."), RunFailed, "trial0 failed: No sp"),
    ],
)
def test_a_search_waits_for_all_scores_of_a_rung(
    tmp_path: Path, ending: Ending, error: type[Exception], hint: str
) -> None:
    def pool(runs, jobs, watch) -> dict[str, Ending]:
        return {run.name: ending for run in runs}

    with pytest.raises(error, match=hint):
        Trials(halving(3), tmp_path).climb(None, silent, pool)


def test_what_can_be_wrong_is_found_with_the_trials_number(tmp_path: Path) -> None:
    crowded = replace(LONG, agents=900, algorithm="dpdl-sound")
    with pytest.raises(InputError, match=r"^Trial 0: .*at most"):
        Trials(make_search(crowded, "lr", 2), tmp_path).check()


@pytest.mark.parametrize(
    ("content", "hint"),
    [("{", "is damaged"), ('{"trial": 0}', r"trials.jsonl:1 has no 'values'")],
)
def test_a_damaged_file_is_refused(tmp_path: Path, content: str, hint: str) -> None:
    (tmp_path / "trials.jsonl").write_text(content + "\n")
    with pytest.raises(InputError, match=hint):
        Trials(make_search(LONG, "lr", 2), tmp_path)


def test_what_is_known_of_a_trial_is_read_again(tmp_path: Path) -> None:
    first = Trials(make_search(LONG, "lr", 2), tmp_path)
    first.climb(None, silent, Scored(by_lr))
    again = Trials(make_search(LONG, "lr", 2), tmp_path)
    assert again.every == first.every
    assert again.every[0].epsilon == Epsilon(9.0)


def test_of_errors_the_lowest_is_best(tmp_path: Path) -> None:
    e = replace(LONG, score="squared-error")
    trials = Trials(make_search(e, "lr", 4, "halving"), tmp_path)
    pool = Scored(by_lr)
    trials.climb(None, silent, pool)
    best = min(range(4), key=lambda k: by_lr(pool.ran[k]))
    assert pool.ran[-1].name == f"trial{best}"
    assert trials.ranked()[0].trial == best
    assert trials.score.name == "squared_error"
