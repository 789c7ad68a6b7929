"""Attacks find what is there to be found, and no more."""

from __future__ import annotations

import json
import shutil
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import dpdl
from dpdl.attacks import harness
from dpdl.attacks.adversary import method_of, network_of, rebuild
from dpdl.attacks.harness import attack
from dpdl.attacks.inverting import (
    Found,
    Problem,
    Settings,
    best,
    check,
    deep_leakage,
    descend,
    invert,
    one_hot,
    prior,
)
from dpdl.attacks.labels import rate, recovered
from dpdl.attacks.metrics import paired_test, score
from dpdl.attacks.peel import able, peel, read
from dpdl.attacks.pixels import Pixels
from dpdl.attacks.recorded import Recording
from dpdl.attacks.tables import Attacked
from dpdl.attacks.targets import AttackCase, Target, target
from dpdl.attacks.workers import Workers
from dpdl.errors import InputError
from dpdl.privacy.clip import Unclipped
from dpdl.tasks.fused.network import understand
from dpdl.tasks.models import cnn, lenet, mlp
from dpdl.tasks.task import Task
from dpdl.training.recording import RecordingRequest
from dpdl.training.train import replan
from dpdl.types import Batch
from tests.commands import dpdl as command

PIXELS = Pixels((0.5,), (0.5,))
SHAPE = (1, 28, 28)


def strokes(count: int, seed: int = 0) -> Tensor:
    """Dark images with a few bright, soft strokes, normalised."""
    draw = torch.Generator().manual_seed(seed)
    x = torch.zeros(count, *SHAPE)
    for image in x:
        for _ in range(3):
            y, z = torch.randint(5, 20, (2,), generator=draw).tolist()
            image[0, y : y + 3, z : z + 8 - 2 * (y % 3)] = 1
    kernel = torch.tensor([[1.0, 2, 1], [2, 4, 2], [1, 2, 1]])[None, None] / 16
    return PIXELS.from_unit(nn.functional.conv2d(x, kernel, padding=1).clamp(0, 1))


def quiet(share: float) -> None:
    """Nobody watches."""


def problem_of(task: Task, x: Tensor, y: Tensor, noise: float = 0.0) -> Problem:
    """Targets are the gradients of batches x (targets, batch, ...), with noise of a relative length."""
    targets = []
    for images, labels in zip(x, y, strict=True):
        batch = Batch(images, labels, torch.zeros(len(labels), dtype=torch.int64))
        g = Unclipped().gradient(task, task.initial, batch, len(labels)).gradient
        g = g + noise * g.norm() * torch.nn.functional.normalize(
            torch.randn(g.shape), dim=0
        )
        targets.append(Target(task.initial, g, 0))
    return Problem.of(task, targets, tuple(x.shape[2:]))


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(0)


def test_the_input_of_the_first_linear_layer_is_read_off_exactly() -> None:
    module = lenet(SHAPE, 10)
    x, y = strokes(2)[:, None], torch.tensor([[3], [7]])
    network = understand(module, SHAPE)
    assert able(network)
    _, a, _ = read(problem_of(Task(module), x, y), network)
    torch.testing.assert_close(a, module[:7](x[:, 0]).detach(), rtol=1e-4, atol=1e-5)


def test_the_true_input_of_a_convolution_explains_all_that_is_known_of_it() -> None:
    """Its output is what was read off, and its weights' gradient is the one that was seen: both are sought to fit."""
    module = lenet(SHAPE, 10)
    x, y = strokes(2)[:, None], torch.tensor([[3], [7]])
    layers, a, slope = read(problem_of(Task(module), x, y), understand(module, SHAPE))
    inner = layers[1]
    out, which, patches = inner.forward(module[:3](x[:, 0]).detach())
    torch.testing.assert_close(out.flatten(1), a, rtol=1e-4, atol=1e-5)
    alive = slope.view_as(out) * (out > 0)
    torch.testing.assert_close(
        inner.gradient(alive, which, patches)[0], inner.seen, rtol=1e-3, atol=1e-6
    )


def test_linear_layers_give_the_image_away_exactly() -> None:
    module, shape = mlp(SHAPE, 10), SHAPE
    x, y = strokes(3)[:, None], torch.tensor([[3], [7], [1]])
    problem = problem_of(Task(module), x, y)
    found = peel(problem, understand(module, shape), y, PIXELS, Settings(), quiet)
    torch.testing.assert_close(found.images, x, rtol=0, atol=1e-4)
    assert found.objective.abs().max() < 1e-4


def test_single_images_are_rebuilt_from_clear_gradients_and_not_from_noisy_ones() -> (
    None
):
    module = lenet(SHAPE, 10)
    x, y = strokes(5)[:, None], torch.tensor([[3], [7], [1], [0], [4]])
    settings, found = Settings(iterations=250, restarts=2), {}
    for noise in (0.0, 5.0):
        problem = problem_of(Task(module), x, y, noise)
        images = peel(
            problem, understand(module, SHAPE), y, PIXELS, settings, quiet
        ).images
        found[noise] = [
            score(one, truth, PIXELS)[0] for one, truth in zip(images, x, strict=True)
        ]
    black = [score(torch.full_like(truth, -1.0), truth, PIXELS)[0].mse for truth in x]
    ssim = sorted(s.ssim for s in found[0.0])
    assert ssim[2] > 0.6
    assert paired_test([s.mse for s in found[0.0]], black) < 0.05
    assert paired_test([s.mse for s in found[5.0]], black) > 0.05


def test_dropout_does_not_hide_what_the_first_linear_layer_received(
    tmp_path: Path,
) -> None:
    e = dpdl.Experiment(
        dataset="digits",
        graph="ring",
        agents=3,
        rounds=2,
        batch=8,
        noise="none",
        clip_unit="none",
    )
    module = cnn((1, 8, 8), 10)
    dpdl.train(
        e, out=tmp_path / "run", model=module, record=RecordingRequest((2,), (1,))
    )
    recording = Recording(tmp_path / "run" / "recording", module)
    assert (
        any(isinstance(part, nn.Dropout) for part in module.modules())
        and method_of(recording, "auto", 1) == "peel"
    )
    found = target(recording, "cg", 2, 1, 0)
    _, a, _ = read(
        Problem.of(recording.task, [found], recording.shape), network_of(recording)
    )
    x, _ = harness.truth_of(
        replan(tmp_path / "run", model=module), AttackCase("cg", 2, 1), 0
    )
    torch.testing.assert_close(
        a,
        recording.task.module(found.model).eval()[:7](x).detach(),
        rtol=1e-3,
        atol=1e-4,
    )


def test_small_batches_are_inverted_towards_the_target() -> None:
    """The objective at the reconstruction is far below that of another image, and images are in the box."""
    task = Task(lenet(SHAPE, 10))
    x, y = strokes(2)[None], torch.tensor([[3, 7]])
    problem = problem_of(task, x, y)
    found = invert(problem, y, PIXELS, Settings(iterations=120, restarts=2), quiet)
    start = invert(problem, y, PIXELS, Settings(iterations=1, restarts=1), quiet)
    assert float(found.objective) < 0.5 * float(start.objective)
    assert found.images.min() >= -1 and found.images.max() <= 1
    again = invert(problem, y, PIXELS, Settings(iterations=120, restarts=2), quiet)
    assert torch.equal(found.images, again.images)
    other = invert(
        problem, y, PIXELS, Settings(iterations=120, restarts=2, seed=5), quiet
    )
    assert not torch.equal(found.images, other.images)


def test_steps_are_signs_and_shrink_tenfold_at_three_places() -> None:
    """Of 8 steps three are 0.1 long, then two 0.01, two 0.001, one 0.0001: so far goes a pixel that never turns."""
    task = Task(lenet(SHAPE, 10))
    x, y = strokes(1)[None], torch.tensor([[3]])
    grey = torch.zeros(1, 1, *SHAPE)
    found = descend(
        problem_of(task, x, y),
        grey,
        one_hot(y, 10),
        PIXELS,
        Settings(iterations=8),
        quiet,
    )
    straight = (found.images.abs() - 0.3221).abs() < 1e-4
    assert straight.float().mean() > 0.1


def test_the_restart_that_fits_best_is_kept() -> None:
    images = torch.arange(6.0).view(6, 1, 1, 1, 1)
    kept = best(
        Found(images, torch.tensor([3.0, 1.0, float("nan"), float("nan"), 5.0, 4.0])), 3
    )
    assert kept.images.flatten().tolist() == [1.0, 5.0] and kept.objective.tolist() == [
        1.0,
        4.0,
    ]


def test_grey_pictures_are_expected_to_be_dark_and_coloured_ones_not() -> None:
    black, white = torch.full((1, 1, *SHAPE), -1.0), torch.full((1, 1, *SHAPE), 1.0)
    of = Settings(smooth=0.5, dark=0.25)
    assert (
        float(prior(black, PIXELS, of)) == 0 and float(prior(white, PIXELS, of)) == 0.5
    )  # 0.25 times a range of 2
    assert float(prior(white.repeat(1, 1, 3, 1, 1), PIXELS, of)) == 0
    stripes = white.clone()
    stripes[
        ..., ::2
    ] = -1  # all neighbours in a row differ by 2, those in a column by nothing
    assert float(prior(stripes, PIXELS, Settings(smooth=0.5, dark=0.0))) == 1


class Smooth(nn.Module):
    """A model that is easy for second-order methods."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Flatten(), nn.Linear(64, 40), nn.Sigmoid(), nn.Linear(40, 5)
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)


@pytest.mark.parametrize("known", [True, False], ids=["idlg", "dlg"])
def test_deep_leakage_is_exact_on_an_easy_model(known: bool) -> None:
    x, y = torch.randn(1, 1, 1, 8, 8), torch.tensor([[2]])
    problem = problem_of(Task(Smooth()), x, y)
    labels = recovered(problem, 1, 0) if known else None
    found = deep_leakage(
        problem, labels, 1, Settings(iterations=200, restarts=3), quiet
    )
    assert float((found.images - x).square().mean()) < 1e-3


def test_labels_are_recovered() -> None:
    task = Task(lenet(SHAPE, 10))
    single = torch.tensor([[3], [7], [1]])
    assert torch.equal(
        recovered(problem_of(task, strokes(3)[:, None], single), 1, 0), single
    )
    four = torch.tensor([[3, 3, 5, 9]])
    found = recovered(problem_of(task, strokes(4)[None], four), 4, 0)
    assert rate(found, four) >= 0.75
    assert rate(torch.tensor([[1, 1, 2]]), torch.tensor([[2, 3, 1]])) == pytest.approx(
        2 / 3
    )


class Cut(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, g):
        return g.clone()


class Once(nn.Module):
    """Its gradient cannot be differentiated again."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(64, 3)

    def forward(self, x: Tensor) -> Tensor:
        return Cut.apply(self.linear(x.flatten(1)))


def test_a_model_without_second_derivatives_is_refused_with_advice() -> None:
    with pytest.raises(InputError, match="twice differentiable"):
        check(Task(Once()), (1, 8, 8), 3)
    for module, shape in (
        (mlp((1, 8, 8), 10), (1, 8, 8)),
        (cnn((3, 8, 8), 10), (3, 8, 8)),
    ):
        check(Task(module), shape, 10)


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "digits"
    e = dpdl.Experiment(
        dataset="digits",
        graph="ring",
        agents=3,
        rounds=3,
        batch=16,
        noise="none",
        clip_unit="none",
    )
    dpdl.train(e, out=path, record=RecordingRequest((2,), (1, 2)))
    return path


def test_cases_are_scored_and_not_done_twice(run: Path) -> None:
    cases = [AttackCase("cg", 2, 1), AttackCase("mm", 2, 2, "recovered")]
    how = harness.Effort(iterations=30, restarts=1)
    first, plan = attack(run, cases, how)
    second, _ = attack(
        run, cases, how, rebuild=lambda *_: pytest.fail("it was done before")
    )
    assert all(
        torch.equal(a.found, b.found) for a, b in zip(first, second, strict=True)
    )
    row = Attacked(run, first, plan).rows()[0]
    assert (
        row["images"] == 3
        and row["label_recovery"] == 1.0
        and row["labels"] == "known"
        and row["best_trivial"] in ("mean", "grey")
    )
    assert first[1].truth.shape == (3, 2, 1, 8, 8)


def test_batches_come_back_in_the_order_of_their_records(run: Path) -> None:
    """An adversary that finds the images exactly, but the wrong way round."""
    case = AttackCase("cg", 2, 2)
    truths = {
        agent: harness.truth_of(replan(run), case, agent)[0].flip(0).numpy()
        for agent in range(3)
    }

    def rebuild(folder, module, case, agents, batch, *_):
        images = np.stack([truths[agent] for agent in agents])
        return (
            images,
            np.zeros(len(agents), np.float32),
            np.zeros((len(agents), batch), np.int64),
        )

    outcomes, plan = attack(run, [case], harness.Effort(seed=1), rebuild=rebuild)
    assert torch.equal(outcomes[0].found, outcomes[0].truth)
    assert Attacked(run, outcomes, plan).rows()[0]["mse"] == 0


class Bare(nn.Module):
    """Its last layer has no bias."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(64, 10, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x.flatten(1))


def test_labels_that_cannot_be_read_off_must_be_known(tmp_path: Path) -> None:
    e = dpdl.Experiment(
        dataset="digits",
        graph="ring",
        agents=3,
        rounds=2,
        batch=16,
        noise="none",
        clip_unit="none",
    )
    dpdl.train(
        e, out=tmp_path / "run", model=Bare(), record=RecordingRequest((2,), (1,))
    )
    effort, model = harness.Effort(iterations=3, restarts=1), Bare()
    outcomes, plan = attack(
        tmp_path / "run", [AttackCase("cg", 2, 1)], effort, model=model
    )
    assert Attacked(tmp_path, outcomes, plan).rows()[0]["label_recovery"] is None
    with pytest.raises(InputError, match="last layer has no bias"):
        attack(
            tmp_path / "run", [AttackCase("cg", 2, 1, "recovered")], effort, model=model
        )


@pytest.mark.parametrize("method", ["peel", "inverting", "idlg"])
def test_a_search_that_ends_nowhere_still_gives_pictures(
    method: str, run: Path, tmp_path: Path
) -> None:
    """Gradients that are infinite, as of a model that diverged."""
    shutil.copytree(run, tmp_path / "run", ignore=shutil.ignore_patterns("attack"))
    outcomes, plan = attack(
        tmp_path / "run",
        [AttackCase("cg", 2, 1)],
        harness.Effort(method, 3, 1),
        rebuild=partial(rebuild, aim=broken),
    )
    assert (
        outcomes[0].found.isfinite().all() and not outcomes[0].objective.isnan().any()
    )
    assert (
        Attacked(tmp_path / "run", outcomes, plan).rows()[0]["p_better_than_trivial"]
        > 0.5
    )


def broken(*args) -> Target:
    found = target(*args)
    return found._replace(direction=torch.full_like(found.direction, float("inf")))


@pytest.mark.parametrize("model", ["scatter-linear", "scatter-cnn"])
def test_models_on_features_are_refused_with_the_reason(
    tmp_path: Path, model: str
) -> None:
    usual = {
        "dataset": "digits",
        "graph": "ring",
        "agents": 3,
        "rounds": 2,
        "batch": 16,
        "noise": "none",
    }
    dpdl.train(
        dpdl.Experiment(**usual, model=model),
        out=tmp_path / "run",
        record=RecordingRequest((1,), (1,)),
    )
    with pytest.raises(InputError, match="sees features, not pixels"):
        attack(tmp_path / "run", [AttackCase("cg", 1, 1)])


def test_how_many_processes_there_are_makes_no_difference(
    run: Path, tmp_path: Path
) -> None:
    cases, effort = [AttackCase("cg", 2, 1)], harness.Effort(iterations=10, restarts=2)
    alone, _ = attack(run, cases, effort)
    shutil.copytree(run, tmp_path / "run", ignore=shutil.ignore_patterns("attack"))
    with Workers(2) as workers:
        shared, _ = attack(tmp_path / "run", cases, effort, workers=workers, together=2)
    torch.testing.assert_close(alone[0].found, shared[0].found, rtol=0, atol=1e-3)


def test_the_command_prints_rows_trivial_rows_and_draws(
    run: Path, monkeypatch, capsys
) -> None:
    words = [
        "--iterations",
        "5",
        "--restarts",
        "1",
        "--batch",
        "1,2",
        "--membership",
        "--quiet",
        "--json",
    ]
    code, out, _ = command(monkeypatch, capsys, "attack", str(run), *words)
    facts = json.loads(out)
    assert code == 0
    assert [(row["scenario"], row["batch"]) for row in facts["rows"]] == [
        (scenario, batch) for batch in (1, 2) for scenario in ("cg", "mm", "self")
    ]
    assert {row["name"] for row in facts["trivial"]} == {
        "black",
        "grey",
        "mean",
        "random",
    }
    assert [
        row["scores"]["gradient"]["auc"]
        for row in facts["membership"]
        if row["scenario"] == "cg"
    ] == [1.0, 1.0]
    assert all(
        Path(facts[name]).read_bytes().startswith(b"\x89PNG")
        for name in ("gallery", "roc")
    )


def test_two_runs_of_one_algorithm_are_told_apart(
    run: Path, tmp_path: Path, monkeypatch, capsys
) -> None:
    shutil.copytree(run, tmp_path / "again")
    words = [
        "--iterations",
        "2",
        "--restarts",
        "1",
        "--scenario",
        "cg",
        "--gallery",
        str(tmp_path / "g.png"),
        "--json",
    ]
    code, out, _ = command(
        monkeypatch,
        capsys,
        "attack",
        str(run),
        str(tmp_path / "again"),
        "--quiet",
        *words,
    )
    facts = json.loads(out)
    assert code == 0 and [row["who"] for row in facts["rows"]] == [
        "ND digits",
        "ND again",
    ]
    assert set(facts["epsilon"]) == {"ND digits", "ND again"}
    assert (tmp_path / "g.png").read_bytes() == (
        run / "attack" / "gallery.png"
    ).read_bytes()


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["--rounds", "9"], "recorded are 2"),
        (["--batch", "5"], "recorded are 1, 2"),
        (["--scenario", "cgg"], "cg"),
        (["--method", "magic"], "inverting"),
        (["--method", "peel", "--batch", "2"], "take 'inverting'"),
        (["--whose", "7"], "agents 0 to 2"),
        (["--iterations", "0"], "at least 1"),
        (["--scenario", "step", "--rounds", "x"], "whole numbers"),
    ],
)
def test_wrong_input_is_one_sentence(
    run: Path, monkeypatch, capsys, words: list[str], hint: str
) -> None:
    code, _, err = command(monkeypatch, capsys, "attack", str(run), "--quiet", *words)
    assert code == 2 and hint in err and err.count("\n") == 1
