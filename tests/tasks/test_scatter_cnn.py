"""The small convolutional network on scattering features: what it is, and that it learns."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

import dpdl
from dpdl.errors import InputError
from dpdl.privacy.clip import PerChunk, PerSample, Unclipped
from dpdl.tasks import features, models
from dpdl.tasks.data.form import Form
from dpdl.tasks.scattering import Scattering
from dpdl.tasks.targets import Classes
from dpdl.tasks.task import Task
from dpdl.types import Batch
from tests.commands import dpdl as command

DEFAULT_THREATS = {
    "dataset": "digits",
    "graph": "complete",
    "agents": 3,
    "batch": 64,
    "clip": 1.0,
    "model": "scatter-cnn",
}


def task_of(
    shape: tuple[int, ...],
    classes: int,
    seed: int = 0,
    dtype: torch.dtype = torch.float64,
) -> Task:
    return Task(models.build("scatter-cnn", shape, classes, seed), dtype=dtype)


def batch_of(
    size: int, shape: tuple[int, ...], classes: int, dtype: torch.dtype = torch.float64
) -> Batch:
    draw = torch.Generator().manual_seed(1)
    lengths = torch.logspace(-1, 1, size).view(
        -1, 1, 1, 1
    )  # so that some gradients are long and others short
    x = (lengths * torch.randn(size, *shape, generator=draw)).to(dtype)
    return Batch(
        x, torch.randint(0, classes, (size,), generator=draw), torch.arange(size)
    )


# ---------------------------------------------------------------- what it is
@pytest.mark.parametrize(
    ("image", "features_", "units", "size"),
    [
        ((1, 28, 28), (81, 7, 7), 32 * 3 * 3, 19_210),  # MNIST
        ((3, 32, 32), (243, 8, 8), 32 * 4 * 4, 44_778),  # CIFAR-10
        (
            (1, 8, 8),
            (81, 2, 2),
            32,
            16_650,
        ),  # the smallest images that scattering takes
        ((1, 12, 20), (81, 3, 5), 32 * 1 * 2, 16_970),
    ],
)
def test_shapes_and_number_of_parameters(
    image, features_, units: int, size: int
) -> None:
    assert Scattering(image).out == features_
    task = task_of(features_, 10)
    assert list(task.shapes.values()) == [
        *([16, features_[0], 3, 3], [16]),
        *([32, 16, 3, 3], [32]),
        *([10, units], [10]),
    ]
    assert task.size == size == sum(task.sizes)
    batch = batch_of(2, features_, 10)
    task.check(batch.x, batch.y, 10)


def convolved(x: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """3 x 3 with one row of zeros around, pixel by pixel."""
    _, height, width = x.shape
    padded = np.zeros((len(x), height + 2, width + 2))
    padded[:, 1:-1, 1:-1] = x
    out = np.empty((len(weight), height, width))
    for f, r, c in np.ndindex(*out.shape):
        out[f, r, c] = (padded[:, r : r + 3, c : c + 3] * weight[f]).sum() + bias[f]
    return out


def plain(p: list[np.ndarray], x: np.ndarray) -> np.ndarray:
    """The network in loops, for one sample."""
    first = np.tanh(convolved(x, p[0], p[1]))
    pooled = np.empty((16, first.shape[1] // 2, first.shape[2] // 2))
    for f, r, c in np.ndindex(*pooled.shape):
        pooled[f, r, c] = first[f, 2 * r : 2 * r + 2, 2 * c : 2 * c + 2].sum() / 4
    second = np.tanh(convolved(pooled, p[2], p[3]))
    return p[4] @ second.reshape(-1) + p[5]


@pytest.mark.parametrize("shape", [(5, 7, 6), (3, 2, 3)])
def test_it_is_the_network_written_out_in_loops(shape: tuple[int, ...]) -> None:
    task = task_of(shape, 4)
    row = 3 * task.initial  # so that tanh is far from a straight line
    batch = batch_of(5, shape, 4)
    parameters = [p.numpy() for p in task.parameters(row).values()]
    expected = np.stack([plain(parameters, x) for x in batch.x.numpy()])
    np.testing.assert_allclose(
        task.outputs(row, batch.x).numpy(), expected, rtol=1e-10, atol=1e-12
    )


# ---------------------------------------------------------------- the first model
def test_a_seed_decides_the_first_model() -> None:
    torch.manual_seed(1)
    first = task_of((81, 7, 7), 10, seed=3).initial
    after = torch.rand(1)
    torch.manual_seed(1)
    assert torch.equal(after, torch.rand(1))  # nobody else's randomness was used
    assert torch.equal(first, task_of((81, 7, 7), 10, seed=3).initial)
    assert not torch.equal(first, task_of((81, 7, 7), 10, seed=4).initial)


def test_the_first_model_is_the_default_of_torch_and_not_zero() -> None:
    """Uniform between -1 and 1 over the root of the number of inputs of a unit."""
    task = task_of((81, 7, 7), 10)
    inputs = [81 * 9, 81 * 9, 16 * 9, 16 * 9, 288, 288]
    for p, count in zip(task.parameters(task.initial).values(), inputs, strict=True):
        most = 1 / math.sqrt(count)
        assert float(p.abs().max()) <= most
        assert (p != 0).all()
        if p.numel() > 1000:
            assert float(p.std()) == pytest.approx(most / math.sqrt(3), rel=0.05)
            assert abs(float(p.mean())) < 0.1 * most


# ---------------------------------------------------------------- gradients
def single_gradients(task: Task, row: Tensor, batch: Batch) -> list[Tensor]:
    """One ordinary backward pass for each sample alone."""
    found = []
    for x, y in zip(batch.x, batch.y, strict=True):
        module = task.module(row)
        torch.nn.functional.cross_entropy(module(x[None]), y[None]).backward()
        found.append(torch.cat([p.grad.flatten() for p in module.parameters()]))
    return found


@pytest.mark.parametrize(
    ("image", "size"), [((1, 28, 28), 12), ((3, 32, 32), 6), ((1, 8, 8), 1)]
)
def test_every_sample_has_its_own_gradient(image: tuple[int, ...], size: int) -> None:
    shape = Scattering(image).out
    task, batch = task_of(shape, 10), batch_of(size, shape, 10)
    single = single_gradients(task, task.initial, batch)
    for k, g in enumerate(single):
        alone = PerSample(1000000000.0).gradient(
            task, task.initial, Batch(*(part[[k]] for part in batch)), 1
        )
        torch.testing.assert_close(alone.gradient, g, rtol=1e-9, atol=1e-12)
    norms = torch.stack([torch.linalg.vector_norm(g) for g in single])
    clip_norm = 0.9 * float(norms.median())  # none is exactly as long
    expected = sum(
        g * min(1.0, clip_norm / float(n)) for g, n in zip(single, norms, strict=True)
    )
    found = PerSample(clip_norm).gradient(task, task.initial, batch, size)
    torch.testing.assert_close(found.gradient, expected / size, rtol=1e-9, atol=1e-12)
    assert found.clipped == int((norms > clip_norm).sum())
    assert size == 1 or 0 < found.clipped < size
    assert found.broken == 0


def test_the_other_units_of_clipping_are_means_of_the_same_gradients() -> None:
    task, batch = task_of((81, 7, 7), 10), batch_of(8, (81, 7, 7), 10)
    mean = torch.stack(single_gradients(task, task.initial, batch)).mean(0)
    torch.testing.assert_close(
        Unclipped().gradient(task, task.initial, batch, 8).gradient,
        mean,
        rtol=1e-09,
        atol=1e-12,
    )
    torch.testing.assert_close(
        PerChunk(1000000000.0, 2).gradient(task, task.initial, batch, 1).gradient,
        mean,
        rtol=1e-09,
        atol=1e-12,
    )


def test_single_precision_on_the_path_of_a_run_agrees() -> None:
    """Whatever path that is: the compiled one, should it ever know these layers."""
    task, batch = (
        task_of((81, 7, 7), 10, dtype=torch.float32),
        batch_of(20, (81, 7, 7), 10, torch.float32),
    )
    task.hasten((81, 7, 7))
    exact = Batch(batch.x.double(), batch.y, batch.key)
    row = task.initial.double()
    expected = PerSample(0.5).gradient(task_of((81, 7, 7), 10), row, exact, 20)
    found = PerSample(0.5).gradient(task, task.initial, batch, 20)
    torch.testing.assert_close(
        found.gradient.double(), expected.gradient, rtol=1e-4, atol=1e-6
    )
    assert found.loss == pytest.approx(expected.loss, rel=1e-5)


# ---------------------------------------------------------------- runs
def test_a_few_rounds_lower_the_loss() -> None:
    steps = {"rounds": 40, "lr": 0.5, "momentum": 0.7, "eval_every": 40}
    result = dpdl.train(
        dpdl.Experiment(**DEFAULT_THREATS, **steps, algorithm="d-psgd", noise="none")
    )
    first, last = result.metrics
    assert result.plan.data.shape == (81, 2, 2) and result.plan.task.size == 16_650
    assert last["train_loss"]["mean"] < 0.5 * first["train_loss"]["mean"]
    assert result.summary["accuracy"]["average_model"] > 0.8


def test_runs_of_a_seed_are_the_same_and_noise_is_that_of_the_accountant() -> None:
    e = dpdl.Experiment(
        **DEFAULT_THREATS, algorithm="dp-dpsgd", epsilon=8.0, rounds=3, lr=0.5
    )
    first, again = dpdl.train(e), dpdl.train(e)
    assert (
        torch.equal(first.models, again.models) and first.plan.grad.noise_multiplier > 0
    )
    assert torch.equal(first.plan.task.initial, again.plan.task.initial)
    assert 0 < first.metrics[-1]["epsilon"] <= 8.0


# ---------------------------------------------------------------- where models are listed
def test_every_model_on_features_is_given_them() -> None:
    pixels = Form((3, 32, 32), Classes(10), torch.uint8)
    given = {name: features.features_of(name, pixels) for name in models.NAMES}
    assert {name for name, found in given.items() if found} == set(features.OF_MODEL)


def test_the_documentation_names_every_model() -> None:
    page = (Path(__file__).parents[2] / "docs" / "options.md").read_text("utf-8")
    (row,) = (line for line in page.splitlines() if line.startswith("| `model` |"))
    assert [name for name in models.NAMES if f"`{name}`" not in row] == []


# ---------------------------------------------------------------- what cannot be done
@pytest.mark.parametrize(
    ("shape", "model", "hint"),
    [
        ((60, 5), "scatter-cnn", "at least 8 x 8 pixels, but the data has shape (5,)"),
        (
            (60, 6, 9),
            "scatter-cnn",
            "at least 8 x 8 pixels, but the data has shape (1, 6, 9)",
        ),
        ((60, 8, 8), "scatter-cn", "Did you mean 'scatter-cnn'"),
        ((60, 8, 8), "scatter_cnn", "Did you mean 'scatter-cnn'"),
    ],
)
def test_wrong_input_gets_one_sentence_and_exit_code_2(
    shape: tuple[int, ...], model: str, hint: str, tmp_path: Path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    x = np.random.default_rng(0).random(shape, dtype=np.float32)
    np.savez("own.npz", x=x, y=np.arange(60) % 3)
    shared = [
        "--dataset",
        "own.npz",
        "--agents",
        "3",
        "--batch",
        "4",
        "--noise",
        "none",
        "--rounds",
        "1",
    ]
    code, out, err = command(
        monkeypatch, capsys, "run", *shared, "--model", model, "--quiet"
    )
    assert code == 2 and out == ""
    assert err.startswith("error: ") and err.count("\n") == 1
    assert hint in err and "Traceback" not in err
    assert [path.name for path in tmp_path.iterdir()] == ["own.npz"]


@pytest.mark.parametrize("shape", [(4,), (7, 7), (81, 1, 7), (81, 7, 1)])
def test_inputs_that_cannot_be_pooled_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(
        InputError, match=r"'scatter-cnn' needs images .* at least 2 x 2 pixels"
    ) as error:
        models.build("scatter-cnn", shape, 10, seed=0)
    assert "\n" not in str(error.value)


def test_the_help_names_it(monkeypatch, capsys) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    code, out, _ = command(monkeypatch, capsys, "run", "--help")
    assert code == 0 and "scatter-cnn" in out
