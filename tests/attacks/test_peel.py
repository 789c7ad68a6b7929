"""Layer by layer, an image is read off its gradient."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

import dpdl
from dpdl.attacks import harness
from dpdl.attacks.adversary import method_of, network_of
from dpdl.attacks.image_scores import paired_test, score
from dpdl.attacks.inverting import Problem, Settings
from dpdl.attacks.peel import able, peel, read_first_linear
from dpdl.attacks.recorded import Recording
from dpdl.attacks.scenarios import AttackCase, target
from dpdl.tasks.fused.network import understand
from dpdl.tasks.models import cnn, lenet, mlp
from dpdl.tasks.task import Task
from dpdl.training.recording import RecordingRequest
from dpdl.training.train import replan
from tests.attacks.images import PIXELS, SHAPE, problem_of, quiet, strokes


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(0)


def test_the_input_of_the_first_linear_layer_is_read_off_exactly() -> None:
    module = lenet(SHAPE, 10)
    x, y = strokes(2)[:, None], torch.tensor([[3], [7]])
    network = understand(module, SHAPE)
    assert able(network)
    _, a, _ = read_first_linear(problem_of(Task(module), x, y), network)
    torch.testing.assert_close(a, module[:7](x[:, 0]).detach(), rtol=1e-4, atol=1e-5)


def test_the_true_input_of_a_convolution_explains_all_that_is_known_of_it() -> None:
    """Its output is what was read off, and its weights' gradient is the one that was seen.

    Both are sought to fit.
    """
    module = lenet(SHAPE, 10)
    x, y = strokes(2)[:, None], torch.tensor([[3], [7]])
    layers, a, slope = read_first_linear(
        problem_of(Task(module), x, y), understand(module, SHAPE)
    )
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
    _, a, _ = read_first_linear(
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
