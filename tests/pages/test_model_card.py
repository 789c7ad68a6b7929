"""The card of a model says what is proven and what is not, and gives nothing private away."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dpdl.folder.form_facts import FormFacts
from dpdl.folder.run_folder import RunFolder
from dpdl.pages.loader_script import ExportedLayers
from dpdl.pages.model_card import ModelCard, model_card
from dpdl.privacy.epsilon import UNBOUNDED, Epsilon
from dpdl.privacy.epsilons import Epsilons
from tests.folder.measured import RUN, summary
from tests.pages.planted import PLANTED, shown

FORM = FormFacts((1, 28, 28), "uint8", (0.1307,), (0.3081,), "10 classes")
LAYERS = ExportedLayers(FORM, 10, "float32", None, ["nn.Flatten()"], "mlp")
SETTINGS = dict(RunFolder(RUN).facts().experiment)


def card(
    layers: ExportedLayers = LAYERS, agent: int | None = None, **changes: Any
) -> str:
    settings = {**SETTINGS, **changes.pop("settings", {})}
    return model_card(ModelCard(summary(**changes), settings, layers, agent, "9.8.7"))


def test_a_card_says_what_the_model_is_and_what_it_takes() -> None:
    text = card()
    assert text.startswith("# dpdl on digits, ring of 3 agents\n")
    assert "the average of the models of all 3 agents" in text
    assert "uint8 pixels from 0 to 255, (n, 1, 28, 28) for n of them" in text
    assert "(x / 255 - 0.1307) / 0.3081" in text
    assert "10 outputs for each record (10 classes)" in text
    assert "| exported by dpdl | 9.8.7 |" in text
    assert "the model of agent 2" in card(agent=2)


def test_a_card_states_every_epsilon_and_what_it_compares() -> None:
    proven = {
        "eavesdropper": Epsilon(7.5),
        "neighbour": UNBOUNDED,
        "final_model": Epsilon(2.25),
    }
    text = card(epsilon=Epsilons(Epsilon(0.125), proven), delta=1e-6)
    assert "| an eavesdropper on all links | 7.5 | 1e-06 |" in text
    assert "| one curious neighbour of an agent | unbounded | 1e-06 |" in text
    assert "| somebody who sees the models, such as this one | 2.25 | 1e-06 |" in text
    assert "claims epsilon = 0.125 for this noise. That is a claim, not" in text
    assert "one record of one agent more or less" in text
    replaced = card(settings={"relation": "replace-one"})
    assert "one record of one agent replaced by any other" in replaced


def test_a_simulation_and_a_model_of_which_nothing_is_proven_say_so_first() -> None:
    text = card(epsilon=Epsilons(proven={"final_model": UNBOUNDED}))
    before = text.partition("## Use")[0]
    assert "It is a simulation." in before
    assert "nothing is proven about the models of this run" in before
    secret = card(settings={"randomness": "secure"}).partition("## Use")[0]
    assert "simulation" not in secret


def test_scores_on_a_sites_own_records_are_left_out() -> None:
    sites = {"sites": ["/a/north.npz", "/a/south.npz"]}
    closed = card(settings=sites)
    assert "accuracy" in card() and "Left out: every site tested" in closed
    for value in (summary().score.mean, summary().score.worst, summary().score.best):
        assert f"{value:.2%}" in card() and f"{value:.2%}" not in closed
    assert "north" not in closed and "/a/" not in closed
    open_test = card(settings={**sites, "test": "/a/test.npz"})
    assert f"{summary().score.mean:.2%}" in open_test and "/a/" not in open_test


def test_nothing_private_is_on_the_card(planted: Path) -> None:
    run = RunFolder(planted)
    found = ModelCard(run.summary(), run.facts().experiment, LAYERS, None, "1.0")
    text = model_card(found)
    for name, value in PLANTED.items():
        assert not [way for way in shown(value) if way in text], name
    assert planted.name not in text


@pytest.mark.parametrize("name", ["a|b.npz", "<script>.npz", "`x`.npz", "[a](b).npz"])
def test_a_name_cannot_break_the_page(name: str) -> None:
    text = card(dataset=name, settings={"dataset": name})
    assert name not in text
    rows = [line for line in text.splitlines() if "divided by" in line]
    assert len(rows) == 1 and rows[0].replace("\\|", "").count("|") == 3


def test_features_are_named() -> None:
    text = card(replace(LAYERS, features="scattering"))
    assert "computes their wavelet scattering, which is fixed." in text
    for kind, name in (
        ("patches", "fixed p"),
        ("deep_patches", "two layers of fixed p"),
    ):
        text = card(replace(LAYERS, features=kind))
        for part in (
            f"their answers to {name}",
            "danielbuechele",
            "vultilion",
            "CC BY 2.0.",
        ):
            assert part in text
    own = ExportedLayers(FORM, 10, "float32", None, None, "mine:Net")
    assert "and your own module `mine`" in card(own)
