"""`docs/proofs.md` is what the code says, and its phrases are true of the exposures that the accountant believes."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from dpdl import graph as graphs
from dpdl.algorithms import NAMES, Algorithm
from dpdl.algorithms.disclosure import AS_EAVESDROPPER
from dpdl.planning.build import make_algorithm
from dpdl.privacy.threats import EAVESDROPPER, FINAL_MODEL, ONE_NEIGHBOUR, Threat
from dpdl.studies import proofs

PAGE = Path(__file__).parents[2] / "docs" / "proofs.md"
LISTENERS = (EAVESDROPPER, ONE_NEIGHBOUR, Threat("neighbours", 2), FINAL_MODEL)
GRAPHS = (graphs.ring(5), graphs.star(5), graphs.complete(4))
EVERY = [*({"algorithm": name} for name in NAMES), *proofs.VARIANTS.values()]


def made(options) -> Algorithm:
    return make_algorithm(proofs.experiment_of(options))


def test_the_page_is_what_the_code_says() -> None:
    assert PAGE.read_text("utf-8") == proofs.page(), (
        f"docs/proofs.md is old; make it again: {proofs.COMMAND}"
    )


@pytest.mark.parametrize("options", EVERY, ids=str)
def test_phrases_are_true_of_the_exposures(options) -> None:
    disclosure = made(options).disclosure
    for graph in GRAPHS:
        for agent in range(len(graph)):
            heard = disclosure.exposure(graph, agent, EAVESDROPPER)
            for listener in LISTENERS:
                phrase, exposure = (
                    disclosure.proof(listener),
                    disclosure.exposure(graph, agent, listener),
                )
                assert math.isinf(exposure) == phrase.startswith("nothing"), phrase
                if phrase == AS_EAVESDROPPER or "without compression" in phrase:
                    assert exposure == heard
                if "one Gaussian release" in phrase:
                    assert exposure == 1
                if "from |N_i| Gaussian releases" in phrase:
                    assert exposure == graph.sizes[agent]


@pytest.mark.parametrize("options", EVERY, ids=str)
def test_phrases_are_short_and_start_with_what_they_are(options) -> None:
    for listener in LISTENERS:
        phrase = made(options).disclosure.proof(listener)
        kind = phrase.split(":")[0]
        assert len(phrase) <= 100
        assert kind in ("exact", "upper bound", "nothing") or "computed from" in kind


def test_whoever_may_not_have_secure_randomness_is_told_why() -> None:
    refused = {
        line.split("`")[1]
        for line in PAGE.read_text("utf-8").splitlines()
        if "| no: " in line
    }
    assert refused == {"async-dpsgd", "epidemic"}
    for name in refused:
        lead = (
            (PAGE.parent / "algorithms" / f"{name}.md")
            .read_text("utf-8")
            .split("\n## ")[0]
        )
        assert "`--randomness secure`" in " ".join(lead.split()), (
            f"the top of docs/algorithms/{name}.md must say it"
        )
