"""What epsilon covers of a page is stated, and a setting is private unless it is named."""

from __future__ import annotations

from dataclasses import fields

import pytest

from dpdl import Experiment
from dpdl.pages.coverage import (
    FOLDER,
    OPEN,
    PLACES,
    alarms,
    closed_settings,
    file_name,
    limits,
    open_settings,
)
from dpdl.privacy.epsilons import Epsilons
from tests.folder.measured import summary
from tests.pages.planted import SEED


# ------------------------------------------------------------------ settings
def test_settings_are_shown_to_everybody_only_if_they_are_named() -> None:
    assert set(OPEN) < {f.name for f in fields(Experiment)} and "seed" not in OPEN
    settings = {
        **Experiment(seed=SEED, dataset="/archive/clinic.npz").as_dict(),
        "new_one": 42,
    }
    assert open_settings(settings)["dataset"] == "clinic.npz"
    assert closed_settings(settings) == {
        "dataset": "/archive/clinic.npz",
        "seed": SEED,
        "new_one": 42,
    }
    assert not {"seed", "new_one"} & open_settings(settings).keys()


@pytest.mark.parametrize("name", PLACES)
def test_a_file_is_shown_without_its_folder(name: str) -> None:
    settings = {"algorithm": "dpdl", name: "/archive/study/secret.npz"}
    assert open_settings(settings)[name] == "secret.npz"
    assert closed_settings(settings) == {name: "/archive/study/secret.npz"}


def test_options_of_the_algorithm_are_shown_and_files_among_them_too() -> None:
    """An option of an algorithm may be the path of a file, such as a table of weights."""
    found = open_settings({"algorithm": "decor", "correlation": 3.0, "qp": "/a/b.txt"})
    assert found == {"algorithm": "decor", "qp": "b.txt", "correlation": 3.0}


def test_an_algorithm_that_is_not_installed_shows_the_options_of_old() -> None:
    settings = {"algorithm": "of-another-package", "momentum": 0.7, "depth": 3}
    assert open_settings(settings) == {
        "algorithm": "of-another-package",
        "momentum": 0.7,
    }
    assert closed_settings(settings) == {"depth": 3}


def test_settings_stand_in_our_order() -> None:
    found = open_settings({"noise": "none", "agents": 3, "dataset": "digits"})
    assert list(found) == ["dataset", "agents", "noise"]


@pytest.mark.parametrize(
    ("text", "name"), [("mnist", "mnist"), ("/a/b.npz", "b.npz"), ("/", "/"), ("", "")]
)
def test_the_last_part_of_a_path_is_its_name(text: str, name: str) -> None:
    assert file_name(text) == name


# ------------------------------------------------------------------ limits
@pytest.mark.parametrize(
    ("epsilon", "randomness", "count", "words"),
    [
        (2.0, "secure", 0, "no more than the models do (epsilon 2)."),
        ("unbounded", "secure", 1, "nothing is proven about the models of this run"),
        (2.0, "reproducible", 1, "It is a simulation."),
        ("unbounded", "reproducible", 2, "of which nothing is proven"),
    ],
)
def test_limits_follow_what_is_proven(
    epsilon: float | str, randomness: str, count: int, words: str
) -> None:
    found = summary(epsilon=Epsilons.from_json({"final_model": epsilon}))
    loud = alarms(found, {"randomness": randomness})
    assert len(loud) == count and words in " ".join(
        [*(one.text for one in loud), *limits(found)]
    )


def test_an_unknown_epsilon_covers_nothing() -> None:
    found = summary(epsilon=Epsilons())
    (loud,) = alarms(found, {"randomness": "secure"})
    assert "nothing is proven about the models" in loud.text
    assert loud.head == "No privacy"


def test_a_run_of_unknown_randomness_counts_as_a_simulation() -> None:
    found = summary(epsilon=Epsilons.from_json({"final_model": 2.0}))
    assert len(alarms(found, {})) == 1


def test_what_a_folder_gives_away_is_listed_file_by_file() -> None:
    every = " ".join(FOLDER)
    for name in ("metrics.jsonl", "state.safetensors", "experiment.json", "recording"):
        assert name in every
