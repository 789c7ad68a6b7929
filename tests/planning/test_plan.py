"""From an experiment to a plan: what is declared leaves, and what cannot be is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from dpdl import graph as graphs
from dpdl.algorithms import NAMES
from dpdl.errors import InputError, PrivacyRefused
from dpdl.net import Gate, Leaving
from dpdl.planning.plan import plan
from dpdl.tasks.data import Dataset
from dpdl.training.launch import launch
from tests.conftest import small_module
from tests.training.links import altered, with_algorithm
from tests.training.small import changed, planned, train


def test_split_noise_that_leaves_has_the_declared_deviation(blobs: Dataset) -> None:
    options = {
        "algorithm": "dpdl-sound",
        "noise_split": "calibrated",
        "sigma": 2.0,
        "rounds": 1,
    }
    p = plan(changed(**options), data=blobs, model=small_module(), graph=graphs.star(5))
    from dpdl.net import Net

    net = Net(p.graph)
    models = net.send("model", p.task.initial.repeat(5, 1))
    batches = p.batches(net.agents, 1)
    noise = []
    for t in range(1, 100):
        noise.append(p.grad.answers(models, batches, net.visits, t).private)
    measured = torch.stack(noise).std(dim=0).mean(dim=1)
    for k, (i, j) in enumerate(net.visits.edges.tolist()):
        assert float(measured[k]) == pytest.approx(
            p.grad.std * p.grad.factors[i, j], rel=0.06
        )


def test_a_message_that_was_not_declared_does_not_leave(blobs: Dataset) -> None:
    p = planned(blobs, changed(algorithm="dpdl-sound"))
    honest = p.algorithm.releases
    silent = altered(p.algorithm, releases=lambda self, grad: honest(grad)[:2])
    p = with_algorithm(p, silent)
    with pytest.raises(PrivacyRefused, match="'momentum', which it has not declared"):
        launch(p, out=None, placement="alone", watch=None)
    assert PrivacyRefused.exit_code == 3
    with pytest.raises(PrivacyRefused):
        Gate([])(Leaving("model", torch.zeros(0, 2), torch.zeros(1, 1), torch.zeros(0)))


def test_accountant_sets_the_noise_and_the_summary_proves_the_target(
    blobs: Dataset,
) -> None:
    summary = train(
        blobs,
        changed(sigma=None, noise="accountant", epsilon=6.0, algorithm="dpdl-sound"),
    ).summary
    assert summary["epsilon"]["eavesdropper"] == pytest.approx(6.0, rel=5e-3)
    assert summary["epsilon"]["eavesdropper"] <= 6.0
    assert "Proven: (" in summary["privacy_statement"]
    for words in (
        "added or removed",
        "an eavesdropper on all links",
        "poisson sampling",
        "every sample clipped",
        "1e-05",
    ):
        assert words in summary["privacy_statement"]


def test_chunk_clipping_with_the_accountant_is_refused(blobs: Dataset) -> None:
    with pytest.raises(PrivacyRefused, match="does not bound a record"):
        train(blobs, changed(sigma=None, noise="accountant", clip_unit="chunks"))


def test_fixed_batches_need_replacement(blobs: Dataset) -> None:
    fixed = {
        "sigma": None,
        "noise": "accountant",
        "sampling": "fixed",
        "epsilon": 20.0,
        "rounds": 1,
    }
    fixed |= {"algorithm": "dpdl-sound"}
    with pytest.raises(InputError, match="replace-one"):
        train(blobs, changed(**fixed))
    summary = train(blobs, changed(**fixed, relation="replace-one")).summary
    assert summary["epsilon"]["eavesdropper"] <= 20.0
    assert "loose" in summary["epsilon_note"]
    assert "one record replaced" in summary["privacy_statement"]


def test_fixed_batches_have_one_relation_everywhere(
    blobs: Dataset, tmp_path: Path
) -> None:
    """With a given sigma the relation need not be asked for; it is replacement all the same."""
    given = changed(algorithm="dpdl-sound", sampling="fixed", sigma=9.0, rounds=2)
    result = train(blobs, given, out=tmp_path / "run")
    experiment = json.loads((tmp_path / "run" / "experiment.json").read_text())[
        "experiment"
    ]
    header = json.loads((tmp_path / "run" / "ledger.jsonl").read_text().splitlines()[0])
    assert (
        experiment["relation"]
        == header["relation"]
        == result.plan.privacy.relation
        == "replace-one"
    )
    assert "one record replaced" in result.summary["privacy_statement"]


def test_fixed_batches_have_no_proof_for_algorithm_1(blobs: Dataset) -> None:
    fixed = changed(algorithm="dpdl", sampling="fixed", sigma=9.0, rounds=1)
    summary = train(blobs, fixed).summary
    assert summary["epsilon"]["eavesdropper"] == "unbounded"
    assert "fixed size" in summary["epsilon_note"]
    with pytest.raises(PrivacyRefused, match="fixed size"):
        train(
            blobs,
            changed(
                algorithm="dpdl",
                sampling="fixed",
                sigma=None,
                relation="replace-one",
                epsilon=9.0,
            ),
        )


def test_secure_randomness_is_refused_where_turns_are_drawn_from_the_seed(
    blobs: Dataset,
) -> None:
    with pytest.raises(InputError, match="'secure' is not for async-dpsgd"):
        train(blobs, changed(algorithm="async-dpsgd", randomness="secure"))


PRIVATE = sorted(name for name, algorithm in NAMES.items() if not algorithm.fixed)
NEEDED = {"pdsl": {"validation": 20}}


@pytest.mark.parametrize("name", PRIVATE)
def test_everything_that_left_was_declared_and_everything_declared_left(
    blobs: Dataset, name: str
) -> None:
    p = plan(
        changed(algorithm=name, rounds=2, **NEEDED.get(name, {})),
        data=blobs,
        model=small_module(),
    )
    seen: list[Leaving] = []
    from dpdl.net import Net

    net = Net(p.graph, observers=[seen.append])
    state = p.algorithm.init(p.task.initial.repeat(5, 1))
    for t in (1, 2):
        state, _ = p.algorithm.round(state, p.batches(net.agents, t), net, p.grad, t)
    declared = {release.channel: release for release in p.algorithm.releases(p.grad)}
    assert {leaving.channel for leaving in seen} == set(declared)
    private = [release for release in declared.values() if release.private]
    assert len(private) == 1
    lr = p.experiment.lr
    assert private[0].sensitivity in (
        p.grad.clip.sensitivity,
        lr * p.grad.clip.sensitivity,
    )  # a gradient, or a step
    assert private[0].noise_multiplier == 0.5
