"""Proposals: computed from public facts, read by every member as they were meant."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load
from torch import nn

from dpdl import algorithms
from dpdl import graph as graphs
from dpdl.errors import DpdlError, InputError, PrivacyRefused
from dpdl.experiment.experiment import Experiment
from dpdl.peer.card import Offer
from dpdl.peer.manifest import Manifest, Rules
from dpdl.peer.plan import first_view, public_plan
from dpdl.peer.proposal import Proposal, propose, weights_of
from dpdl.privacy.threats import threat
from dpdl.tasks import models
from tests.peer.agreements import FORM, NAMES, card

CARDS = [
    card(name, data=(Offer("lungs", 300 + 50 * k, FORM.shape, FORM.predict),))
    for k, name in enumerate(NAMES)
]
LUNGS = ["lungs"] * 3


def proposed(rules: Rules | None = None, **options: object) -> Proposal:
    asked: dict[str, object] = {
        "algorithm": "dp-dpsgd",
        "rounds": 5,
        "batch": 16,
        "sigma": 3.0,
        "randomness": "secure",
        **options,
    }
    return propose(Experiment(**asked), CARDS, LUNGS, rules or Rules())


def read(proposal: Proposal) -> Manifest:
    return Manifest.parse(proposal.manifest)


# ------------------------------------------------------------------ what it says
def test_a_manifest_says_who_with_what() -> None:
    found = read(proposed())
    assert found.names == NAMES
    assert [member.records for member in found.members] == [300, 350, 400]
    assert [member.key for member in found.members] == [one.key for one in CARDS]
    assert [member.url for member in found.members] == [one.url for one in CARDS]
    assert (found.form.shape, found.form.predict) == ("1,8,8", "10 classes")
    assert (found.graph.W == graphs.ring(3).W).all()


def test_every_member_builds_the_plan_and_finds_its_epsilon() -> None:
    """The epsilons are those of every member's own computation, the fewest records the worst."""
    made = proposed(algorithm="dpdl-sound")
    found = read(made)
    plan = public_plan(found, first_view(found), made.initial)
    listener = threat(found.privacy.threat)
    own = [plan.privacy.epsilon(k, listener) for k in range(3)]
    assert own == pytest.approx(found.privacy.epsilon, rel=1e-9)
    assert own[0] > own[1] > own[2] > 0
    assert plan.privacy.sigma == found.privacy.sigma == 3.0


def test_the_accountant_sets_the_noise_for_the_worst_off() -> None:
    found = read(proposed(sigma=None, epsilon=0.5, rounds=20))
    assert found.privacy.epsilon[0] == pytest.approx(0.5, rel=1e-3)
    assert max(found.privacy.epsilon) <= 0.5
    assert "sigma" not in found.experiment
    assert found.experiment_of().sigma == found.privacy.sigma


def test_the_threat_of_the_experiment_is_counted_for() -> None:
    """Neighbours know the noise of their links, which hides a record from everybody else."""
    one = read(proposed(algorithm="decor", threat="eavesdropper")).privacy
    two = read(proposed(algorithm="decor", threat="neighbours:2")).privacy
    assert (one.threat, two.threat) == ("eavesdropper", "neighbours:2")
    assert all(a < b for a, b in zip(one.epsilon, two.epsilon, strict=True))


def test_the_initial_model_is_the_one_of_the_hash() -> None:
    made = proposed()
    found = read(made)
    assert hashlib.sha256(made.initial).hexdigest() == found.model.sha256
    tensors = load(made.initial)
    shapes = {name: tuple(one.shape) for name, one in tensors.items()}
    assert shapes == dict(found.model.shapes)
    plan = public_plan(found, first_view(found), made.initial)
    wanted = models.build("mlp", (1, 8, 8), 10, 0)
    assert list(found.model.shapes) == [name for name, _ in wanted.named_parameters()]
    row = torch.cat([one.detach().flatten() for one in wanted.parameters()])
    assert torch.equal(plan.task.initial, row)


def test_a_proposal_is_the_same_again() -> None:
    assert proposed() == proposed()


def test_a_model_that_was_trained_before_can_be_the_start() -> None:
    module = models.build("mlp", (1, 8, 8), 10, seed=9)
    e = Experiment(algorithm="dp-dpsgd", rounds=5, sigma=3.0, randomness="secure")
    made = propose(e, CARDS, LUNGS, Rules(), initial=module)
    assert torch.equal(load(made.initial)["1.weight"], module[1].weight)
    other = nn.Sequential(nn.Flatten(), nn.Linear(64, 10))
    with pytest.raises(InputError, match="must have the parameters of model 'mlp'"):
        propose(e, CARDS, LUNGS, Rules(), initial=other)


def test_a_graph_of_a_file_travels_as_its_weights(tmp_path: Path) -> None:
    file = tmp_path / "edges.csv"
    file.write_text("0,1\n1,2\n")
    rules = Rules(graph="lost-weight")
    found = read(proposed(rules, graph=str(file)))
    assert found.experiment["graph"] == "given"
    assert found.neighbours(1) == (0, 2) and found.neighbours(0) == (1,)
    assert str(tmp_path).encode() not in found.content
    with pytest.raises(InputError, match="must be 'lost-weight'"):
        proposed(graph=str(file))


def test_weights_are_those_of_the_graph_to_the_last_bit() -> None:
    graph = graphs.erdos_renyi(9, "sinkhorn", 3)
    W = np.zeros((9, 9))
    for i, j, weight in weights_of(graph):
        W[i, j] = W[j, i] = weight
    assert (W == graph.W).all()


def test_a_public_test_set_is_named_by_its_hash(tmp_path: Path) -> None:
    file = tmp_path / "test.npz"
    np.savez(file, x=np.zeros((4, 1, 8, 8), np.float32), y=np.arange(4))
    found = read(proposed(test=None))
    assert found.form.test_sha256 is None
    e = Experiment(algorithm="dp-dpsgd", rounds=5, sigma=3.0, randomness="secure")
    made = propose(e, CARDS, LUNGS, Rules(), test=file)
    wanted = hashlib.sha256(file.read_bytes()).hexdigest()
    assert read(made).form.test_sha256 == wanted
    assert str(tmp_path).encode() not in made.manifest
    np.savez(file, x=np.zeros((4, 64), np.float32), y=np.arange(4))
    with pytest.raises(InputError, match=r"A record of the test set .* is \(64,\)"):
        propose(e, CARDS, LUNGS, Rules(), test=file)
    with pytest.raises(InputError, match="cannot be read: No such file"):
        propose(e, CARDS, LUNGS, Rules(), test=tmp_path / "none.npz")


@pytest.mark.parametrize(
    ("model", "shape", "numbers"),
    [
        ("scatter-linear", "1,28,28", 81 * 7 * 7),
        ("patch-linear", "3,32,32", 8192),
        ("deep-patch-linear", "3,32,32", 16384),
    ],
)
def test_features_stand_in_for_pixels(model: str, shape: str, numbers: int) -> None:
    offers = (Offer("lungs", 300, shape, "10 classes", "pixels"),)
    cards = [card(name, data=offers) for name in NAMES]
    e = Experiment(model=model, algorithm="dp-dpsgd", sigma=3.0, randomness="secure")
    made = propose(e, cards, LUNGS, Rules())
    found = read(made)
    assert found.model.shapes["1.weight"] == (10, numbers)
    assert (
        public_plan(found, first_view(found), made.initial).task.size
        == 10 * numbers + 10
    )


# ------------------------------------------------------------------ what is refused
@pytest.mark.parametrize(
    ("options", "kind", "said"),
    [
        ({"algorithm": "async-dpsgd"}, InputError, "whose turn it is is drawn from"),
        (
            {"algorithm": "pdsl", "validation": 9},
            InputError,
            "takes public records out",
        ),
        ({"algorithm": "d-psgd", "sigma": None}, PrivacyRefused, "bounds no single"),
        ({"noise": "none", "sigma": None}, PrivacyRefused, "Without noise nothing may"),
        ({"clip_unit": "batch"}, PrivacyRefused, "clip_unit 'batch' bounds no single"),
        ({"clip_unit": "chunks"}, PrivacyRefused, "clip_unit 'chunks' bounds no"),
        ({"clip_unit": "none"}, PrivacyRefused, "clip_unit 'none' bounds no single"),
        ({"algorithm": "dpdl", "sigma": 0.01}, PrivacyRefused, "No epsilon holds for"),
        ({"model": "lenet"}, InputError, "Model 'lenet' needs images"),
        ({"graph": "hypercube"}, InputError, "power of two"),
        ({"randomness": "reproducible"}, InputError, "Peers need randomness 'secure'"),
        ({"algorithm": "os:abort"}, InputError, "os:abort|abort"),
    ],
)
def test_what_peers_cannot_run_is_refused(
    options: dict[str, object], kind: type[DpdlError], said: str
) -> None:
    with pytest.raises(kind, match=said) as failure:
        proposed(**options)
    assert len(str(failure.value)) <= 300


def test_a_data_set_that_is_not_offered_is_named() -> None:
    e = Experiment(randomness="secure", sigma=3.0)
    with pytest.raises(InputError, match="st-olav offers no data set 'knees'"):
        propose(e, CARDS, ["lungs", "knees", "lungs"], Rules())


def test_a_site_takes_part_once() -> None:
    e = Experiment(algorithm="dp-dpsgd", sigma=3.0, randomness="secure")
    with pytest.raises(InputError, match="Two members of the manifest have the same"):
        propose(e, [CARDS[0], CARDS[0]], ["lungs"] * 2, Rules())
    with pytest.raises(InputError, match=r"number of members must be .* from 2"):
        propose(replace(e, graph="complete"), CARDS[:1], ["lungs"], Rules())


SERVED = sorted(
    name
    for name, entry in algorithms.NAMES.items()
    if not entry.fixed and name not in ("async-dpsgd", "epidemic", "pdsl", "dpdl")
)


@pytest.mark.parametrize("algorithm", SERVED)
def test_every_other_algorithm_can_be_proposed(algorithm: str) -> None:
    example = algorithms.NAMES[algorithm].kind.example
    made = proposed(algorithm=algorithm, average=0.25, **example)
    found = read(made)
    plan = public_plan(found, first_view(found), made.initial)
    assert plan.experiment.algorithm == algorithm
    assert all(one > 0 for one in found.privacy.epsilon)


def test_compression_is_agreed_on() -> None:
    found = read(proposed(algorithm="dpdl-sound", compress="sign"))
    assert found.experiment["compress"] == "sign"
