"""What a ledger costs is what the plan of its run costs."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from dpdl.errors import InputError
from dpdl.folder.ledger_content import LedgerContent, read
from dpdl.folder.ledger_cost import (
    cost,
    effective,
    experiment_of,
    graph_of,
    listeners_of,
    mechanism_of,
    model_of,
    neighbours_of,
    options_of,
    relation_of,
    rows_of,
    stated_steps,
    weights_of,
)
from dpdl.folder.ledger_lines import ChargedRound, Header
from dpdl.folder.run_folder import RunFolder
from dpdl.graph import build
from dpdl.privacy.sampling import FixedSize, Poisson
from dpdl.privacy.threats import EAVESDROPPER, FINAL_MODEL, Threat
from tests.folder.measured import RUN

HEADER = Header.from_json(json.loads((RUN / "ledger.jsonl").read_text().split("\n")[0]))
OLD = replace(
    HEADER,
    ledger=1,
    rounds=None,
    randomness=None,
    weights=None,
    parameters=None,
    options=None,
)


def ledger(header: Header, *rounds: ChargedRound) -> LedgerContent:
    return replace(
        read(RUN / "ledger.jsonl"), header=header, entries=rounds, rounds=header.rounds
    )


def test_the_stored_run_costs_what_its_summary_says() -> None:
    found = cost(read(RUN / "ledger.jsonl"))
    proven = RunFolder(RUN).summary().epsilon.proven
    assert found == {name: pytest.approx(one.value) for name, one in proven.items()}


def test_a_matrix_comes_back_from_its_weights() -> None:
    for graph in (build("ring", 5), build("star", 4), build("complete", 1)):
        agents = {"records": (9,) * len(graph), "neighbours": neighbours_of(graph)}
        header = replace(HEADER, **agents, weights=weights_of(graph))
        assert np.array_equal(graph_of(header).W, graph.W)
    assert weights_of(build("complete", 2)) == ((0, 0, 0.5), (0, 1, 0.5), (1, 1, 0.5))
    assert neighbours_of(build("path", 3)) == ((1,), (0, 2), (1,))
    assert rows_of(np.eye(2)) == ((1.0, 0.0), (0.0, 1.0))


def test_the_experiment_of_a_header_is_that_of_the_run() -> None:
    e, found = RunFolder(RUN).experiment(), experiment_of(HEADER, 4)
    assert options_of(found) == options_of(e) == HEADER.options
    assert (found.algorithm, found.batch, found.sigma) == (e.algorithm, e.batch, 1.0)
    assert experiment_of(replace(HEADER, sigma=0.0), 4).noise == "none"


def test_what_leaves_in_a_round_is_in_the_options_and_nothing_else() -> None:
    names = set(options_of(RunFolder(RUN).experiment()))
    assert {"lr", "momentum", "dtype", "seed", "compress"} <= names
    assert not {"rounds", "eval_every", "sigma", "graph", "budget", "delta"} & names


def test_a_header_of_another_threat_has_one_more_listener() -> None:
    keys = [t.key for t in listeners_of(HEADER)]
    assert keys == ["eavesdropper", "neighbour", "final_model"]
    more = listeners_of(replace(HEADER, threat="neighbours:2"))
    assert more[-1] == Threat("neighbours", 2)


def test_steps_have_the_stated_noise_and_the_proof_of_the_algorithm() -> None:
    sigmas = (0.5, 0.25, 0.125)
    header = replace(HEADER, sigma_eff={"eavesdropper": sigmas})
    model = model_of(HEADER, 4)
    for step, sigma, agent in zip(
        stated_steps(header, EAVESDROPPER), sigmas, range(3), strict=True
    ):
        assert step == replace(model.step(agent, EAVESDROPPER), sigma=sigma)
        assert step.adaptive
    stated = HEADER.sigma_eff["final-model"]
    assert effective(model, FINAL_MODEL) == pytest.approx(stated)


def test_format_1_is_believed_and_charges_agents_for_their_own_rounds() -> None:
    header = replace(OLD, sigma_eff={"eavesdropper": (1.0, 2.0, 2.0)})
    both = ledger(header, ChargedRound(1), ChargedRound(2))
    first = ledger(header, ChargedRound(1), ChargedRound(2, agents=(1, 2)))
    assert 0 < cost(first)["eavesdropper"] < cost(both)["eavesdropper"]
    silent = replace(OLD, sigma_eff={"eavesdropper": (1.0, 0.0, 2.0)})
    assert cost(ledger(silent, ChargedRound(1)))["eavesdropper"] == math.inf


def test_batches_of_a_fixed_size_are_about_replacement() -> None:
    fixed = replace(OLD, sampling="fixed")
    assert (relation_of(OLD), relation_of(fixed)) == ("add-remove", "replace-one")
    assert isinstance(mechanism_of(OLD).sampling, Poisson)
    assert isinstance(mechanism_of(fixed).sampling, FixedSize)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"weights": ((0, 7, 0.5),)}, "header of the ledger is damaged"),
        ({"weights": ((0, 0, 0.5),)}, "Row 0"),
        ({"algorithm": "dpld"}, "Did you mean 'dpdl'"),
        ({"options": {"nothing": 1}}, "nothing"),
    ],
)
def test_a_damaged_header_is_refused(change: dict, words: str) -> None:
    with pytest.raises(InputError, match=words):
        model_of(replace(HEADER, **change), 4)


def test_lists_of_other_lengths_are_refused() -> None:
    header = replace(HEADER, sigma_eff={"eavesdropper": (1.0,)})
    with pytest.raises(InputError, match="its lists differ in length"):
        stated_steps(header, EAVESDROPPER)
