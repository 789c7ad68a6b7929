"""An epsilon never stands without who proved it against whom."""

from __future__ import annotations

import pytest

from dpdl.pages.epsilon_words import (
    compared_words,
    epsilon_words,
    listener_words,
    threat_of,
)
from dpdl.privacy.epsilon import UNBOUNDED, UNKNOWN, Epsilon
from dpdl.privacy.epsilons import Epsilons
from dpdl.privacy.threats import EAVESDROPPER, FINAL_MODEL, Threat, threat


@pytest.mark.parametrize(
    ("listener", "words"),
    [
        ("eavesdropper", "an eavesdropper on all links"),
        ("final-model", "somebody who sees the models only"),
        ("neighbours:1", "one curious neighbour"),
        ("neighbours:3", "3 neighbours that work together"),
    ],
)
def test_listeners_have_words(listener: str, words: str) -> None:
    assert listener_words(threat(listener)) == words


@pytest.mark.parametrize(
    "listener", ["eavesdropper", "final-model", "neighbours:1", "neighbours:3"]
)
def test_the_key_of_a_summary_is_read_back(listener: str) -> None:
    assert threat_of(threat(listener).key) == threat(listener)


@pytest.mark.parametrize(
    ("listener", "claimed", "words"),
    [
        (
            EAVESDROPPER,
            UNKNOWN,
            "epsilon 3.544, proven against an eavesdropper on all links",
        ),
        (
            EAVESDROPPER,
            Epsilon(0.5),
            "epsilon 3.544, proven against an eavesdropper on all links; 0.5 claimed by "
            "Theorem 1",
        ),
        (
            FINAL_MODEL,
            UNKNOWN,
            "nothing is proven against somebody who sees the models only",
        ),
    ],
)
def test_an_epsilon_is_named(listener: Threat, claimed: Epsilon, words: str) -> None:
    proven = {"eavesdropper": Epsilon(3.5437), "final_model": UNBOUNDED}
    assert epsilon_words(Epsilons(claimed, proven), listener) == words


def test_several_algorithms_have_a_range_and_those_without_a_proof_are_named() -> None:
    found = {"a": Epsilon(3.99998), "b": Epsilon(7.23), "c": UNBOUNDED, "d": UNKNOWN}
    assert compared_words(found, EAVESDROPPER) == (
        "Epsilon proven against an eavesdropper on all links: 4 to 7.23. Nothing is "
        "proven for c, d."
    )
    equal = {"a": Epsilon(4.0), "b": Epsilon(3.99998)}
    assert compared_words(equal, EAVESDROPPER).endswith("links: 4.")
    nothing = compared_words({"c": UNBOUNDED}, EAVESDROPPER)
    assert nothing == "Nothing is proven against an eavesdropper on all links."
