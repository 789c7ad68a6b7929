"""Cases are attacked once, and what was rebuilt is put beside the truth."""

from __future__ import annotations

import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import dpdl
from dpdl.attacks import harness
from dpdl.attacks.adversary import Knowledge, Rebuilt, rebuild
from dpdl.attacks.harness import reconstruct, refuse_other_tasks
from dpdl.attacks.scenarios import AttackCase, Target, target
from dpdl.attacks.scoring import Attacked
from dpdl.attacks.workers import ShareWatch, Workers
from dpdl.errors import InputError
from dpdl.planning.plan import plan
from dpdl.tasks import data as datasets
from dpdl.tasks.data import Dataset
from dpdl.tasks.targets import Numbers
from dpdl.training.recording import RecordingRequest
from dpdl.training.train import replan
from tests.attacks.runs import OPTIONS, record_digits
from tests.training.small import changed, planned


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(0)


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    return record_digits(tmp_path_factory.mktemp("runs") / "digits")


def test_cases_are_scored_and_not_done_twice(run: Path) -> None:
    cases = [AttackCase("cg", 2, 1), AttackCase("mm", 2, 2, "recovered")]
    how = harness.Effort(iterations=30, restarts=1)
    first, plan = reconstruct(run, cases, how)
    second, _ = reconstruct(
        run, cases, how, rebuild=lambda *_: pytest.fail("it was done before")
    )
    assert all(
        torch.equal(a.found, b.found) for a, b in zip(first, second, strict=True)
    )
    row = Attacked(run, first, plan).rows()[0]
    assert (row.images, row.label_recovery, row.labels) == (3, 1.0, "known")
    assert row.best_trivial in ("mean", "grey")
    assert first[1].truth.shape == (3, 2, 1, 8, 8)


def test_batches_come_back_in_the_order_of_their_records(run: Path) -> None:
    """An adversary that finds the images exactly, but the wrong way round."""
    case = AttackCase("cg", 2, 2)
    truths = {
        agent: harness.truth_of(replan(run), case, agent)[0].flip(0).numpy()
        for agent in range(3)
    }

    def rebuild(known: Knowledge, watch: ShareWatch) -> Rebuilt:
        images = np.stack([truths[agent] for agent in known.agents])
        labels = np.zeros((len(known.agents), known.batch), np.int64)
        return Rebuilt(images, np.zeros(len(known.agents), np.float32), labels)

    outcomes, plan = reconstruct(run, [case], harness.Effort(seed=1), rebuild=rebuild)
    assert torch.equal(outcomes[0].found, outcomes[0].truth)
    assert Attacked(run, outcomes, plan).rows()[0].mse == 0


class Bare(nn.Module):
    """Its last layer has no bias."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(64, 10, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x.flatten(1))


def test_labels_that_cannot_be_read_off_must_be_known(tmp_path: Path) -> None:
    dpdl.train(
        dpdl.Experiment(**OPTIONS),
        out=tmp_path / "run",
        model=Bare(),
        record=RecordingRequest((2,), (1,)),
    )
    effort, model = harness.Effort(iterations=3, restarts=1), Bare()
    outcomes, plan = reconstruct(
        tmp_path / "run", [AttackCase("cg", 2, 1)], effort, model=model
    )
    assert Attacked(tmp_path, outcomes, plan).rows()[0].label_recovery is None
    with pytest.raises(InputError, match="last layer has no bias"):
        reconstruct(
            tmp_path / "run", [AttackCase("cg", 2, 1, "recovered")], effort, model=model
        )


@pytest.mark.parametrize("method", ["peel", "inverting", "idlg"])
def test_a_search_that_ends_nowhere_still_gives_pictures(
    method: str, run: Path, tmp_path: Path
) -> None:
    """Gradients that are infinite, as of a model that diverged."""
    shutil.copytree(run, tmp_path / "run", ignore=shutil.ignore_patterns("attack"))
    outcomes, plan = reconstruct(
        tmp_path / "run",
        [AttackCase("cg", 2, 1)],
        harness.Effort(method, 3, 1),
        rebuild=partial(rebuild, aim=broken),
    )
    assert (
        outcomes[0].found.isfinite().all() and not outcomes[0].objective.isnan().any()
    )
    assert (
        Attacked(tmp_path / "run", outcomes, plan).rows()[0].p_better_than_trivial > 0.5
    )


def broken(*args) -> Target:
    found = target(*args)
    return found._replace(direction=torch.full_like(found.direction, float("inf")))


def recorded_features(folder: Path, model: str) -> Path:
    """Digits of 16 x 16 pixels: on 8 x 8 a search among features often gets stuck."""
    large = datasets.load("digits").x.repeat_interleave(2, 2).repeat_interleave(2, 3)
    pixels = (255 * (large - large.min()) / (large.max() - large.min())).byte()
    labels = datasets.load("digits").y
    if "patch" in model:  # in colour, and larger
        pixels = nn.functional.pad(pixels, (2, 2, 2, 2)).expand(-1, 3, -1, -1)
    own = folder.parent / "large.npz"
    np.savez(
        own,
        x=pixels[:300].numpy(),
        y=labels[:300].numpy(),
        x_test=pixels[300:400].numpy(),
        y_test=labels[300:400].numpy(),
    )
    common = {
        "dataset": str(own),
        "graph": "ring",
        "agents": 3,
        "rounds": 2,
        "batch": 16,
        "noise": "none",
    }
    dpdl.train(
        dpdl.Experiment(**common, model=model),
        out=folder,
        record=RecordingRequest((1,), (1, 2)),
    )
    return folder


@pytest.mark.parametrize(
    ("model", "batch", "method"),
    [
        ("scatter-cnn", 1, "auto"),
        ("scatter-linear", 2, "auto"),
        ("scatter-linear", 1, "dlg"),
        ("patch-linear", 1, "auto"),
        ("deep-patch-linear", 1, "unscatter"),
    ],
)
def test_what_features_do_not_give_away_is_refused_with_the_reason(
    tmp_path: Path, model: str, batch: int, method: str
) -> None:
    run = recorded_features(tmp_path / "run", model)
    with pytest.raises(InputError, match="sees features, not pixels"):
        reconstruct(run, [AttackCase("cg", 1, batch)], harness.Effort(method))


def test_images_are_rebuilt_from_gradients_of_a_linear_model_on_features(
    tmp_path: Path,
) -> None:
    run = recorded_features(tmp_path / "run", "scatter-linear")
    outcomes, plan = reconstruct(run, [AttackCase("cg", 1, 1)])
    attacked = Attacked(run, outcomes, plan)
    assert outcomes[0].truth.shape == (3, 1, 1, 16, 16)
    row = attacked.rows()[0]
    assert row.method == "unscatter"
    assert row.mse < row.best_trivial_mse / 2
    assert row.label_recovery == 1.0
    images = datasets.load(plan.experiment.dataset)
    rows = plan.everybody.records[0].rows
    own = images.inputs(images.x[rows], torch.float32)
    apart = (own - outcomes[0].truth[0]).flatten(1).abs().amax(1)
    assert apart.min() == 0, "the truth is a record of the agent"


def test_pictures_of_other_data_than_the_features_are_refused(tmp_path: Path) -> None:
    run = recorded_features(tmp_path / "run", "scatter-linear")
    planned = replan(run)
    data = datasets.load(planned.experiment.dataset)
    other = replace(data, y=data.y.flip(0))
    with pytest.raises(InputError, match=r"are not those of .*large"):
        harness.pictures_of(planned, other)
    assert harness.pictures_of(planned, data) is data


def test_how_many_processes_there_are_makes_no_difference(
    run: Path, tmp_path: Path
) -> None:
    cases, effort = [AttackCase("cg", 2, 1)], harness.Effort(iterations=10, restarts=2)
    alone, _ = reconstruct(run, cases, effort)
    shutil.copytree(run, tmp_path / "run", ignore=shutil.ignore_patterns("attack"))
    with Workers(2) as workers:
        shared, _ = reconstruct(
            tmp_path / "run", cases, effort, workers=workers, together=2
        )
    torch.testing.assert_close(alone[0].found, shared[0].found, rtol=0, atol=1e-3)


@pytest.mark.parametrize("name", ["iterations", "restarts"])
def test_an_effort_of_nothing_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=f"{name} must be a whole number of at least"):
        harness.Effort(**{name: 0})


def test_an_effort_leaves_open_what_the_method_decides() -> None:
    assert harness.Effort().settings("peel").restarts == 16
    settings = harness.Effort(iterations=7, seed=3).settings("inverting")
    assert (settings.iterations, settings.restarts, settings.seed) == (7, 4, 3)


def test_pieces_are_of_some_agents_with_their_own_labels(run: Path) -> None:
    """Three targets, two of them together: the results are in the order of the agents."""
    case, pieces = AttackCase("cg", 2, 1), []

    def rebuild(known: Knowledge, watch: ShareWatch) -> Rebuilt:
        pieces.append((known.agents, known.labels.shape))
        shape = (len(known.agents), 1, 1, 8, 8)
        images = np.zeros(shape, np.float32)
        images[:, 0, 0, 0, 0] = known.agents
        return Rebuilt(images, np.zeros(shape[0], np.float32), known.labels)

    (found,), _ = reconstruct(
        run, [case], harness.Effort(seed=9), (2, 0, 1), together=2, rebuild=rebuild
    )
    assert pieces == [((2, 0), (2, 1)), ((1,), (1, 1))]
    assert found.found[:, 0, 0, 0, 0].tolist() == [2, 0, 1]
    assert torch.equal(found.read_labels, found.true_labels)


def test_other_tasks_than_classes_by_cross_entropy_are_refused(blobs: Dataset) -> None:
    def half(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.cross_entropy(outputs, targets) / 2

    refuse_other_tasks(planned(blobs))
    with pytest.raises(
        InputError, match="Attacks are written for one class per record"
    ):
        refuse_other_tasks(planned(blobs, loss=half))
    x = torch.randn(80, 2)
    numbers = Dataset("mine", x[:70], x[:70], x[70:], x[70:], predicts=Numbers(2))
    e = changed(partition="iid", dataset="mine")
    with pytest.raises(InputError, match="learns 2 numbers by"):
        refuse_other_tasks(plan(e, data=numbers, model=torch.nn.Linear(2, 2)))
