"""A request becomes a setting, a sigma and a game; what does not fit is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

import dpdl
from dpdl.audit.examine import examine, play_game, sigma_of
from dpdl.audit.facts import AuditFacts
from dpdl.audit.measure import CountWatch
from dpdl.audit.request import AuditRequest
from dpdl.audit.setting import GameRules
from dpdl.errors import InputError
from dpdl.folder.files import read_record

OPTIONS = {
    "algorithm": "gradient-tracking",
    "dataset": "digits",
    "graph": "ring",
    "agents": 3,
    "rounds": 2,
    "sigma": 2.0,
}
REQUEST = AuditRequest(OPTIONS, default_records=60, most_canaries=40, rate=1.0)


@contextmanager
def unseen(counted: str, total: int) -> Iterator[CountWatch]:
    yield lambda done: None


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "run"
    dpdl.train(dpdl.Experiment(**OPTIONS, batch=60, seed=3), out=folder)
    return folder


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"options": {"graph": "ring"}}, "graph"),
        ({"records": 3}, "records"),
        ({"rate": 0.5}, "rate"),
        ({"rule": "accountant"}, "noise"),
    ],
)
def test_a_run_brings_its_own_options(run: Path, change: dict, name: str) -> None:
    request = AuditRequest({}, 60, 40, run=run)
    with pytest.raises(InputError, match=f"^{name} is an option of the run"):
        replace(request, **change).setting()


def test_a_run_may_be_heard_by_another_listener_and_in_part(run: Path) -> None:
    options = {"threat": "final-model", "rounds": 1, "seed": 9}
    setting, sigma = AuditRequest(options, 60, 40, run=run).setting()
    e = setting.experiment
    assert (e.threat, e.rounds, sigma) == ("final-model", 1, 2.0)
    assert e.seed == 3, "the seed is that of the game, not of what the run drew"
    assert e.randomness == "reproducible"


def test_the_result_of_a_run_is_kept_in_its_folder(run: Path) -> None:
    facts = examine(AuditRequest({"seed": 7}, 60, 40, run=run), unseen)
    assert read_record(AuditFacts, run / "audit.json") == facts
    assert (facts.run, facts.seed, facts.canaries) == (str(run), 7, 40)


def test_options_alone_leave_no_file(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    facts = examine(REQUEST, unseen)
    assert facts.run is None and list(tmp_path.iterdir()) == []
    assert facts.certified <= facts.proven.value
    json.dumps(facts.to_json(), allow_nan=False)


def test_rounds_or_trials_are_counted() -> None:
    opened: list[tuple[str, int]] = []
    done: list[int] = []

    @contextmanager
    def watch(counted: str, total: int) -> Iterator[CountWatch]:
        opened.append((counted, total))
        yield done.append

    examine(REQUEST, watch)
    assert opened == [("rounds", 2)] and done == [1, 2]
    done.clear()
    examine(replace(REQUEST, trials=20, canaries=20), watch)
    assert opened[1] == ("trials", 20) and done == list(range(1, 21))


def test_secure_randomness_draws_anew_and_a_seed_repeats() -> None:
    def errors(randomness: str) -> list[object]:
        options = {**OPTIONS, "randomness": randomness}
        setting, _ = replace(REQUEST, options=options).setting()
        rules = GameRules(40, None, None, 0.95, 5)
        found = [play_game(setting, 2.0, rules, unseen) for _ in range(2)]
        return [result.by_counting.threshold for result in found]

    again, same = errors("reproducible")
    assert again == same
    one, other = errors("secure")
    assert one != other


def test_secure_randomness_is_not_for_an_algorithm_that_shares_a_seed() -> None:
    options = {**OPTIONS, "algorithm": "async-dpsgd", "randomness": "secure"}
    with pytest.raises(InputError, match="randomness 'secure' is not for async-dpsgd"):
        examine(replace(REQUEST, options=options), unseen)


def test_links_that_would_have_no_proof_are_not_examined() -> None:
    options = {**OPTIONS, "algorithm": "decor", "randomness": "secure"}
    request = replace(REQUEST, options={**options, "weight_decay": 0.1})
    with pytest.raises(InputError, match="weight_decay must be 0"):
        examine(request, unseen)


def test_sigma_is_fixed_or_set_by_a_rule() -> None:
    def sigma(rule: str | None = None, **more: object) -> float:
        options = {**OPTIONS, "sigma": None, "epsilon": 2.0, **more}
        setting, _ = replace(REQUEST, options=options).setting()
        return sigma_of(setting, rule, 40)

    assert sigma(sigma=1.25) == 1.25
    accounted = sigma()
    assert accounted == sigma("accountant"), "Theorem 1 is not about the algorithm"
    by_theorem = sigma(algorithm="dpdl-sound")
    assert by_theorem == sigma("theorem1", algorithm="dpdl-sound")
    assert by_theorem != sigma("accountant", algorithm="dpdl-sound")
    with pytest.raises(InputError, match="Theorem 1 says nothing about gradient-track"):
        sigma("theorem1")
