"""The settings of the story are files of the package, and mean what the story says."""

from __future__ import annotations

import pytest

from dpdl.experiment.experiment import load
from dpdl.studies.demo.script import DIGITS, MNIST, story_of
from dpdl.studies.reproduce.recipes import tuned
from tests.documents import HOME


@pytest.mark.parametrize("dataset", [MNIST, DIGITS])
def test_every_part_has_a_file_and_shares_data_graph_and_seed(dataset: str) -> None:
    story = story_of(dataset)
    assert story.dataset == dataset
    names = [part.name for part in story.script.part if not part.control]
    assert names == ["open", "paper", "proven"]
    places = {
        (e.dataset, e.graph, e.agents, e.partition, e.alpha_d, e.seed)
        for e in story.experiments.values()
    }
    assert len(places) == 1, "the same records are attacked in every part"


@pytest.mark.parametrize("dataset", [MNIST, DIGITS])
def test_the_open_run_is_the_papers_without_its_noise(dataset: str) -> None:
    experiments = story_of(dataset).experiments
    with_noise = experiments["paper"].as_dict()
    without = experiments["open"].as_dict()
    differ = {name for name in without if without[name] != with_noise.get(name)}
    assert differ <= {"noise", "epsilon"}
    assert (without["noise"], with_noise["noise"]) == ("none", "theorem1")


@pytest.mark.parametrize("dataset", [MNIST, DIGITS])
def test_what_the_paper_claims_is_what_the_last_part_proves(dataset: str) -> None:
    experiments = story_of(dataset).experiments
    assert experiments["proven"].noise == "accountant"
    assert experiments["proven"].epsilon == experiments["paper"].epsilon


def test_the_papers_part_is_the_quick_start() -> None:
    for dataset, file in ((MNIST, "quickstart"), (DIGITS, "quickstart-digits")):
        told = story_of(dataset).experiments["paper"].as_dict()
        path = HOME / "experiments" / f"{file}.toml"
        known = load(path, None, {}).resolved().as_dict()
        differ = {name for name in known if known[name] != told.get(name)}
        assert differ <= {"eval_every"}


def test_the_control_is_the_last_part_without_its_noise() -> None:
    experiments = story_of(MNIST).experiments
    control, proven = (experiments[name].as_dict() for name in ("control", "proven"))
    differ = {name for name in proven if proven[name] != control.get(name)}
    assert differ <= {"noise", "epsilon", "rounds", "eval_every"}
    assert control["rounds"] == story_of(MNIST).script.attack.round


def test_the_step_of_the_last_part_is_the_tuned_one() -> None:
    found = tuned().modes["sound"]["mnist"]["bipartite"]["muffliato"]
    assert story_of(MNIST).experiments["proven"].options["lr"] == found["lr"]
