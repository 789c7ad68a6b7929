"""Sentences of the study have its numbers."""

from __future__ import annotations

import pytest

from dpdl.folder.calibration_study import SORTED
from dpdl.pages.calibration_facts import apart, counts, facts, unlike_ring
from dpdl.pages.calibration_leads import leads
from tests.pages.study_lines import line, setting, study

LOW, HIGH, SILENT = setting(2.0), setting(32.0, graph="complete"), setting(None)
STUDY = study(
    {
        LOW: {
            "dpdl-sound": [0.5, 0.6, 0.7],
            "blind": [0.5, 0.59, 0.71],
            "dp-dmsgd": [0.4, 0.5, 0.6],
        },
        HIGH: {
            "dpdl-sound": [0.8, 0.8, 0.8],
            "blind": [0.78, 0.79, 0.77],
            "dp-dmsgd": [0.81, 0.82, 0.83],
        },
        SILENT: {"dpdl-sound": [0.8, 0.8, 0.8], "blind": [0.81, 0.82, 0.83]},
    }
)


def test_sentences_have_the_numbers_of_the_study() -> None:
    noisy, same, seen, silent, hidden, there, rest, how_many, equal = facts(STUDY)
    assert "the 2 settings with noise `dpdl-sound` leads it by +0.0 to +2.0" in noisy
    assert noisy.endswith("on average by +1.00.")
    assert same.startswith("In the 2 of them")
    assert (
        "ahead in 1 of 2 settings and behind in 0, with a median lead of +1.0" in seen
    )
    assert (
        "ahead in 0 of 1 settings and behind in 1, with a median lead of -2.0" in silent
    )
    assert "0.200 without noise, and 0.200 with it" in hidden
    assert (
        "ahead in 1 of 1 settings and behind in 0, with a median lead of +10.0" in there
    )
    assert (
        "ahead in 0 of 1 settings and behind in 1, with a median lead of -2.0" in rest
    )
    assert how_many.startswith("3 settings, 2 of them with noise; in 3 some")
    assert "at most 0 %" in equal


def test_words_count_as_leads_do() -> None:
    words = (
        "ahead in 1 of 3 settings and behind in 1, with a median lead of +0.0 points"
    )
    assert counts(leads(STUDY, "blind")) == words


def test_rings_with_unlike_records_are_told_apart() -> None:
    assert unlike_ring(setting(alpha_d=SORTED))
    assert unlike_ring(setting(alpha_d=0.05))
    assert not unlike_ring(setting(alpha_d=0.25))
    assert not unlike_ring(setting(graph="complete"))


def test_unequal_epsilons_are_noticed() -> None:
    s = setting(2.0)
    ours, other = line(s, "dpdl-sound", [0.5]), line(setting(2.2), "blind", [0.5])
    assert apart({s: {"dpdl-sound": ours, "blind": other}}) == pytest.approx(0.1)
    assert apart(STUDY) == 0
