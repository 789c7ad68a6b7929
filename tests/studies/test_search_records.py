"""The files of a search: what they hold, and that those of older versions are read."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from dpdl.errors import InputError
from dpdl.privacy.epsilon import UNKNOWN, Epsilon
from dpdl.studies.search import make_search
from dpdl.studies.search_records import (
    SearchFile,
    SearchResult,
    SearchTerms,
    Trial,
    file_of,
    result_of,
    terms_of,
)
from tests.studies.scored import E, planned

OLD = Path(__file__).parents[1] / "folder" / "old" / "search"


def test_the_file_has_the_request_beside_the_options() -> None:
    plain = file_of(make_search(E, "lr,clip", 3)).to_json()
    assert list(plain) == ["format", "version", "asked"]
    asked = plain["asked"]
    assert isinstance(asked, dict)
    assert asked["over"] == {"lr": [0.01, 1, True], "clip": [0.1, 10, True]}
    assert (asked["for_budget"], asked["search"]) == (False, "random")
    assert (asked["dataset"], asked["rounds"]) == ("digits", 8)
    assert not {"work", "trials"} & set(asked)
    s = replace(make_search(E, "lr", 3, work=4.0), plan=tuple(planned(E)))
    budget = file_of(s)
    assert (budget.asked.for_budget, budget.asked.work) == (True, 4.0)
    assert SearchFile.from_json(json.loads(json.dumps(budget.to_json()))) == budget


def test_only_a_grid_fixes_the_number_of_trials() -> None:
    assert terms_of(make_search(E, "lr", 3, "grid")).trials == 3
    assert terms_of(make_search(E, "lr", 3)).trials is None


def test_a_request_that_names_a_default_is_the_same() -> None:
    default = E.resolved().lr
    named = terms_of(make_search(replace(E, lr=default), "clip", 1))
    unnamed = terms_of(make_search(E, "clip", 1))
    assert named != unnamed
    assert named.resolved() == unnamed.resolved()


def test_a_trial_knows_its_last_score() -> None:
    new = Trial(3, {"lr": 0.1}, {})
    assert (new.rounds, new.score(0), new.epsilon) == (0, None, UNKNOWN)
    later = new.with_score(9, 0.25).with_score(81, None)
    assert (later.rounds, later.score(9), later.score(81)) == (81, 0.25, None)
    assert later.scored(81) and not later.scored(27)
    assert new.scores == {}
    found = result_of(replace(later, epsilon=Epsilon(2.0)))
    assert (found.rounds, found.score, found.epsilon) == (81, None, Epsilon(2.0))


def test_files_of_an_older_version_are_read() -> None:
    file = SearchFile.from_json(json.loads((OLD / "tune.json").read_text()))
    assert (file.asked.search, file.plan) == ("random", None)
    assert file.asked.experiment["correlation"] == 3.0
    assert file.asked.resolved().experiment["algorithm"] == "dp-dpsgd"
    trial = Trial.from_json(json.loads((OLD / "trials.jsonl").read_text()))
    written = json.loads((OLD / "result.json").read_text())
    result = SearchResult.from_json(written)
    assert result.trials == (result_of(trial),)
    assert result.to_json() == written


def test_a_file_of_a_later_format_is_refused() -> None:
    content = file_of(make_search(E, "lr", 3)).to_json() | {"format": 2}
    with pytest.raises(InputError, match=r"tune\.json is of format 2"):
        SearchFile.from_json(content, "tune.json")


def test_ranges_of_whole_numbers_stay_whole() -> None:
    s = make_search(replace(E, algorithm="dp-netfleet"), "local_steps", 3)
    terms = SearchTerms.from_json(json.loads(json.dumps(terms_of(s).to_json())))
    low, high, log = terms.over["local_steps"]
    assert (repr(low), repr(high), log) == ("1", "8", False)


@pytest.mark.parametrize("rounds", ["", "dpdl", "1.5", "-3", "9" * 400])
def test_scores_are_by_rounds(rounds: str) -> None:
    with pytest.raises(InputError, match="scores must be by rounds"):
        Trial(0, {}, {rounds: 0.5})
