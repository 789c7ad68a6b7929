"""An experiment between sites has every option, and nothing that the cards do not say alike."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dpdl.errors import InputError
from dpdl.experiment.experiment import Experiment
from dpdl.peer.card import Card, Offer
from dpdl.peer.offers import offer_like
from dpdl.peer.proposed_experiment import proposed_experiment
from tests.peer.agreements import NAMES, card

CARDS = [card(name) for name in NAMES]
OFFERS = [replace(one.offer("lungs"), records=400 + k) for k, one in enumerate(CARDS)]


def proposed(**options: object) -> Experiment:
    return proposed_experiment(
        Experiment(**{"randomness": "secure", **options}), CARDS, OFFERS
    )


def test_members_are_the_sites_and_cards_say_what_they_have() -> None:
    e = proposed(rounds=7)
    assert (e.sites, e.agents, e.records) == (NAMES, 3, "400,401,402")
    assert (e.shape, e.predict, e.scaling, e.dataset) == (
        *("1,8,8", "10 classes", None),
        "sites",
    )
    assert e.rounds == 7 and e == e.resolved()


def test_defaults_are_those_of_the_data_set_that_is_named_and_looks_alike() -> None:
    offers = [offer_like("lungs", 400, "mnist")] * 3
    asked = Experiment(dataset="mnist", algorithm="dp-dpsgd", randomness="secure")
    e = proposed_experiment(asked, CARDS, offers)
    assert (e.model, e.batch, e.options["lr"]) == ("lenet", 216, 1.5)
    assert (e.dataset, e.shape, e.scaling) == ("sites", "1,28,28", "0.5/0.5")
    assert (proposed(dataset="mnist").model, proposed(dataset="mnist").batch) == (
        *("mlp", 32),
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"sites": ("a", "b")}, "Leave sites out: the cards of the members say it"),
        ({"records": "400"}, "Leave records out: the cards"),
        ({"budget": "3"}, "Leave budget out: every site has a budget of its own"),
        ({"stop_after_stalled": 3}, "Leave stop_after_stalled out: no site sees"),
        ({"agents": 4}, "agents must be 3, one for each member, not 4"),
        ({"randomness": "reproducible"}, "Peers need randomness 'secure'"),
        ({"shape": "30"}, "shape is '30', but the cards of the members say '1,8,8'"),
        ({"predict": "classes"}, "predict is 'classes', but the cards"),
        ({"partition": "shards"}, "leave out either partition or sites"),
    ],
)
def test_what_peers_cannot_have_is_refused(
    options: dict[str, object], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        proposed(**options)


def test_what_agrees_with_the_cards_may_be_said_twice() -> None:
    e = Experiment(randomness="secure", agents=3, predict="10 classes")
    assert proposed_experiment(e, CARDS, OFFERS) == proposed()


@pytest.mark.parametrize(
    ("field", "value"),
    [("shape", "64"), ("predict", "9 classes"), ("scaling", "pixels")],
)
def test_records_that_differ_name_the_two_sites(field: str, value: str) -> None:
    offers = [*OFFERS[:2], replace(OFFERS[2], **{field: value})]
    with pytest.raises(
        InputError, match=rf"mercy and vita differ in {field}: .*{value}"
    ):
        proposed_experiment(Experiment(randomness="secure"), CARDS, offers)


def test_all_kinds_of_targets_can_be_learnt() -> None:
    cards: list[Card] = CARDS[:2]
    for predict in ("4 labels", "2 numbers"):
        offers = [Offer("x", 100, "30", predict)] * 2
        e = proposed_experiment(Experiment(randomness="secure"), cards, offers)
        assert (e.predict, e.shape) == (predict, "30")
