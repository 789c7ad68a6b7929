"""docs/cross-gradients.md says what results/study holds, and its experiment does what it says."""

from __future__ import annotations

import importlib
import math
import re
from dataclasses import replace
from types import ModuleType

import pytest

import dpdl
from dpdl.algorithms import SoundDPDL
from dpdl.folder.calibration_study import (
    StudyLine,
    StudySeed,
    StudySetting,
    study_lines,
)
from dpdl.pages.calibration_tables import tables
from tests.documents import HOME, text

RESULTS = HOME / "results" / "study"
PAGE = "docs/cross-gradients.md"


@pytest.fixture
def study(monkeypatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(HOME / "experiments"))
    return importlib.import_module("cross_gradients")


@pytest.fixture
def compared(study: ModuleType) -> ModuleType:
    return importlib.import_module("compared")


@pytest.fixture
def blind(study: ModuleType) -> ModuleType:
    return importlib.import_module("blind")


def test_tables_and_sentences_of_the_page_are_those_of_the_results() -> None:
    page = text(PAGE)
    words = " ".join(page.split())
    for part in tables(RESULTS):
        assert part in page if part.startswith("|") else part in words, part
    measured = re.sub(r"\| \| \|\n(\|.*\n)+", "", page)  # without the settings
    shown = [row for row in measured.splitlines() if re.match(r"\| .*\d", row)]
    made = "\n".join(tables(RESULTS)).splitlines()
    assert set(shown) <= set(made), "a table that no results stand behind"


def test_all_settings_are_measured_with_three_seeds(study, compared) -> None:
    found = study_lines(RESULTS / "cross-gradients.jsonl")
    assert len(found) >= 215
    all_of_them = compared.settings()
    assert f"of the {len(all_of_them)} settings in" in text(PAGE)
    for s, lines in found.items():
        assert s in all_of_them
        assert study.finished(s, lines), "a step was not tried by all"
        for line in lines.values():
            assert [one.seed for one in line.seeds] == [0, 1, 2]
            best = max(line.held_out.values())
            assert line.held_out[str(line.step)] == best


def test_the_climb_ends_where_both_sides_are_no_better(study: ModuleType) -> None:
    tried: list[int] = []

    def score(k: int) -> float:
        tried.append(k)
        return -float((k - 4) ** 2)

    assert study.climb(score, 1) == 4
    assert {3, 5} <= set(tried)
    assert study.climb(score, 6) == 4
    broken = study.climb(lambda k: study.DIVERGED if k > 0 else 0.5 - abs(k + 1), 3)
    assert broken == -1


def known(s: StudySetting, name: str, held_out: dict[str, float]) -> StudyLine:
    """A line with scores that nobody measures."""
    best = max(held_out, key=lambda power: held_out[power])
    seeds = tuple(StudySeed(k, 0.123, 0.123, 1.0, 2.0, None, None) for k in range(3))
    return StudyLine(s, name, int(best), held_out, seeds)


def test_what_is_measured_is_not_measured_again(study, compared) -> None:
    s = StudySetting("digits-linear", "complete", 10, 10.0, 16, None, 2)
    names = compared.algorithms(s)
    done = {name: known(s, name, {"0": 0.4, "1": 0.5}) for name in names}
    assert study.finished(s, done)
    assert study.measured(s, done) == [done[name] for name in names]


def test_everybody_tries_the_step_that_is_best_for_another(study, compared) -> None:
    s = StudySetting("digits-linear", "complete", 10, 10.0, 16, None, 2)
    first, *others = compared.algorithms(s)
    done = {name: known(s, name, {"0": 1.1, "1": 0.5}) for name in others}
    done[first] = known(s, first, {"0": 0.0, "3": 1.1})
    assert not study.finished(s, done)
    after = {line.algorithm: line for line in study.measured(s, done)}
    assert study.finished(s, after)
    assert after[first] == done[first]
    for name in others:  # no accuracy is better than 1.1
        assert after[name].seeds == done[name].seeds
        assert 0 < after[name].held_out["3"] < 1


def test_answers_share_the_epsilon_of_one(compared: ModuleType) -> None:
    s = StudySetting("digits-linear", "ring", 5, 10.0, 16, 8.0, 3)
    proven = {}
    for name in ("dp-dmsgd", "blind"):
        seed = compared.outcome(s, name, 0, compared.ran(s, name, 0, 0))
        proven[name] = seed.epsilon
        assert seed.sigma == pytest.approx(
            compared.single(s) * math.sqrt(compared.answers(s, name)), rel=1e-4
        )
    assert proven["blind"] == proven["dp-dmsgd"] == pytest.approx(8, rel=0.01)


def trained(compared: ModuleType, algorithm) -> dpdl.Result:
    s = StudySetting("digits-linear", "ring", 5, 0.25, 16, None, 6)
    e = replace(
        compared.experiment(s, "blind", 1.0, 0, {"sigma": 0.1}), algorithm=algorithm
    )
    return dpdl.train(e, **compared.given(s), progress=False)


def test_blind_differs_from_dpdl_sound_by_its_coefficients_alone(
    compared, blind
) -> None:
    same = [
        trained(compared, kind(lr=0.1, alpha=0.0)).models
        for kind in (SoundDPDL, blind.Blind)
    ]
    assert bool((same[0] == same[1]).all())
    other = [
        trained(compared, kind(lr=0.1)).models for kind in (SoundDPDL, blind.Blind)
    ]
    assert not bool((other[0] == other[1]).all())
    assert float((other[0] - other[1]).norm() / other[0].norm()) < 0.1


def test_the_probe_steps_as_dpdl_sound_and_sees_more(compared, blind) -> None:
    ours, probed = (
        trained(compared, kind(lr=0.1)) for kind in (SoundDPDL, blind.Probed)
    )
    assert bool((ours.models == probed.models).all())
    for a, b in zip(ours.metrics, probed.metrics, strict=True):
        seen = (3 * a.diagnostics["cosine"] - 1) / 2  # without itself
        assert b.diagnostics["noisy_cosine"] == pytest.approx(seen, abs=1e-6)
        assert b.diagnostics["clean_square"] < b.diagnostics["noisy_square"]
