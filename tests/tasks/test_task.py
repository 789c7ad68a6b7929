"""A model on flat rows: a row is a module, every record has a gradient, wrong models are refused.

Gradients are compared with plain autograd, one record at a time.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import Tensor, nn
from torch.func import vmap

from dpdl.errors import InputError
from dpdl.privacy.clip import PerChunk, PerSample, Unclipped
from dpdl.tasks.losses import (
    Loss,
    binary_cross_entropy,
    cross_entropy,
    squared_error,
)
from dpdl.tasks.scores import Score, score_of
from dpdl.tasks.task import Task
from dpdl.types import Batch
from tests.conftest import small_batch, small_module


def test_rows_and_modules_are_the_same_model() -> None:
    module = small_module()
    task = Task(module, dtype=torch.float64)
    batch = small_batch(5, 0)
    assert torch.equal(task.outputs(task.initial, batch.x), module(batch.x))
    row = torch.randn_like(task.initial)
    assert torch.equal(task.module(row)(batch.x), task.outputs(row, batch.x))
    assert torch.equal(
        nn.utils.parameters_to_vector(task.module(row).parameters()), row
    )


def test_frozen_parameters_stay_out_of_the_row() -> None:
    module = small_module()
    for p in module[0].parameters():
        p.requires_grad_(False)
    task = Task(module, dtype=torch.float64)
    assert task.sizes == (54, 3)
    assert torch.equal(
        task.outputs(task.initial, small_batch(3, 0).x), module(small_batch(3, 0).x)
    )


@pytest.mark.parametrize(
    ("module", "words"),
    [
        (
            nn.Sequential(
                nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Flatten(), nn.Linear(18, 3)
            ),
            "GroupNorm",
        ),
        (
            nn.Sequential(
                nn.Flatten(), nn.Linear(25, 4), nn.BatchNorm1d(4), nn.Linear(4, 3)
            ),
            "BatchNorm1d",
        ),
        (
            nn.Sequential(
                nn.InstanceNorm2d(1, track_running_stats=True),
                nn.Flatten(),
                nn.Linear(25, 3),
            ),
            "running",
        ),
        (
            nn.Sequential(nn.Flatten(), nn.Linear(25, 3), nn.AlphaDropout()),
            "only nn.Dropout",
        ),
        (nn.Flatten(), "no trainable parameters"),
    ],
)
def test_modules_that_break_privacy_do_not_construct(
    module: nn.Module, words: str
) -> None:
    with pytest.raises(InputError, match=words):
        Task(module)


class Branches(nn.Linear):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x.flatten(1)) * (1 if x.sum() > 0 else 2)


@pytest.mark.parametrize(
    ("module", "words"),
    [
        (
            nn.Sequential(nn.Flatten(), nn.Linear(25, 4)),
            r"3 outputs per sample.*\(2, 4\)",
        ),
        (
            nn.Sequential(nn.Flatten(), nn.Linear(7, 3)),
            r"does not accept inputs of shape \(1, 5, 5\)",
        ),
        (Branches(25, 3), "sample by sample"),
        (
            nn.Sequential(
                nn.Conv2d(1, 4, 5), nn.GroupNorm(4, 4), nn.Flatten(), nn.Linear(4, 3)
            ),
            "one value in a group",
        ),
    ],
)
def test_check_says_what_is_wrong_with_a_model(module: nn.Module, words: str) -> None:
    batch = small_batch(2, 0)
    with pytest.raises(InputError, match=words):
        Task(module, dtype=torch.float64).check(batch.x, batch.y, 3)


def test_group_norm_is_welcome() -> None:
    module = nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.GroupNorm(2, 4), nn.Flatten(), nn.Linear(36, 3)
    )
    batch = small_batch(2, 0)
    Task(module, dtype=torch.float64).check(batch.x, batch.y, 3)
    assert Task(module).size == 36 + 4 + 4 + 4 + 108 + 3


def test_threads_do_not_disturb_each_other() -> None:
    task = Task(small_module(), dtype=torch.float64)
    batch = small_batch(6, 1)
    rows = [task.initial * (1 + k / 10) for k in range(8)]
    loss = vmap(task.loss, (None, 0, 0, 0))
    expected = [loss(task.parameters(row), *batch) for row in rows]
    with ThreadPoolExecutor(4) as pool:
        found = list(
            pool.map(lambda k: loss(task.parameters(rows[k % 8]), *batch), range(200))
        )
    assert all(torch.equal(value, expected[k % 8]) for k, value in enumerate(found))


# ------------------------------------------------------------------ gradients of every loss
def quantile(outputs: Tensor, targets: Tensor) -> Tensor:
    """An own loss: the pinball loss of the 0.9 quantile."""
    gap = targets - outputs
    return torch.maximum(0.9 * gap, -0.1 * gap).mean()


def weighted(outputs: Tensor, targets: Tensor) -> Tensor:
    """An own loss of classes that takes functions of torch apart."""
    logs = outputs.log_softmax(1)
    picked = logs.gather(1, targets[:, None])
    return -(picked[:, 0] * (1 + targets)).mean()


def of_kind(kind: str, size: int) -> Batch:
    """Random records with targets of a kind."""
    x, classes, key = small_batch(size, 4)
    draw = torch.Generator().manual_seed(9)
    numbers = torch.randn(size, 3, generator=draw, dtype=torch.float64)
    y = {"classes": classes, "labels": (numbers > 0).double(), "numbers": numbers}
    return Batch(x, y[kind], key)


LOSSES: dict[str, tuple[Loss, str]] = {
    "cross-entropy": (cross_entropy, "classes"),
    "binary-cross-entropy": (binary_cross_entropy, "labels"),
    "squared-error": (squared_error, "numbers"),
    "own quantile": (quantile, "numbers"),
    "own weighted classes": (weighted, "classes"),
}


def one_by_one(task: Task, loss: Loss, batch: Batch) -> list[tuple[Tensor, float]]:
    """Gradient and loss of every record, by plain autograd."""
    found = []
    for x, y in zip(batch.x, batch.y, strict=True):
        module = task.module(task.initial).train()
        value = loss(module(x[None]), y[None])
        value.backward()
        parts = [p.grad.flatten() for p in module.parameters() if p.grad is not None]
        found.append((torch.cat(parts), float(value.detach())))
    return found


@pytest.mark.parametrize(("loss", "kind"), LOSSES.values(), ids=LOSSES)
@pytest.mark.parametrize("clip_norm", [0.3, 1000.0])
def test_clipped_gradients_are_those_of_one_record_at_a_time(
    loss: Loss, kind: str, clip_norm: float
) -> None:
    task = Task(small_module(), loss, torch.float64)
    task.hasten((1, 5, 5))
    assert task.fused is None  # the plain path
    batch = of_kind(kind, 7)
    single = one_by_one(task, loss, batch)
    total = torch.zeros_like(task.initial)
    for gradient, _ in single:
        total += gradient * min(1.0, clip_norm / float(gradient.norm()))
    found = PerSample(clip_norm).gradient(task, task.initial, batch, 10)
    torch.testing.assert_close(found.gradient, total / 10, rtol=1e-10, atol=1e-12)
    assert found.loss == pytest.approx(sum(value for _, value in single), rel=1e-10)
    assert found.clipped == sum(float(g.norm()) > clip_norm for g, _ in single)
    assert (found.samples, found.broken) == (7, 0)


@pytest.mark.parametrize(("loss", "kind"), LOSSES.values(), ids=LOSSES)
def test_other_ways_of_clipping_are_sums_of_the_same_gradients(
    loss: Loss, kind: str
) -> None:
    task, batch = Task(small_module(), loss, torch.float64), of_kind(kind, 6)
    single = torch.stack([gradient for gradient, _ in one_by_one(task, loss, batch)])
    whole = Unclipped().gradient(task, task.initial, batch, 8)
    torch.testing.assert_close(whole.gradient, single.sum(0) / 8)
    chunks = PerChunk(0.1, 2).gradient(task, task.initial, batch, 8)
    means = [single[:3].mean(0), single[3:].mean(0)]
    expected = sum(mean * min(1.0, 0.1 / float(mean.norm())) for mean in means) / 2
    torch.testing.assert_close(chunks.gradient, expected)


def contrast(outputs: Tensor, targets: Tensor) -> Tensor:
    """A loss that compares the records of a batch with each other."""
    return (outputs - outputs.mean(0)).square().mean()


def test_a_loss_cannot_compare_records_with_each_other() -> None:
    task = Task(small_module(), contrast, torch.float64)
    batch = of_kind("numbers", 5)
    assert float(contrast(task.outputs(task.initial, batch.x), batch.y)) > 0
    found = PerSample(1.0).gradient(task, task.initial, batch, 5)
    assert found.loss == 0
    assert not found.gradient.any()


def undefined(outputs: Tensor, targets: Tensor) -> Tensor:
    """A loss whose gradient is not finite at records with the target 0."""
    return (outputs * targets).abs().sum(1).sqrt().mean()


def test_a_record_whose_gradient_is_not_finite_harms_no_other() -> None:
    task = Task(small_module(), undefined, torch.float64)
    batch = of_kind("numbers", 5)
    batch.y[2] = 0
    found = PerSample(0.5).gradient(task, task.initial, batch, 5)
    rest = [k for k in range(5) if k != 2]
    without = Batch(*(part[rest] for part in batch))
    expected = PerSample(0.5).gradient(task, task.initial, without, 5)
    assert (found.broken, expected.broken) == (1, 0)
    torch.testing.assert_close(found.gradient, expected.gradient)


# ------------------------------------------------------------------ what a task says
def test_parameters_are_views_of_the_row_in_order() -> None:
    task = Task(small_module())
    row = torch.arange(task.size, dtype=torch.float32)
    parts = task.parameters(row)
    assert (
        list(parts) == list(task.shapes) == ["0.weight", "0.bias", "3.weight", "3.bias"]
    )
    assert torch.equal(torch.cat([part.flatten() for part in parts.values()]), row)
    assert task.shapes["3.weight"] == [3, 18]
    parts["0.bias"].zero_()
    assert row[18:20].tolist() == [0, 0]
    assert sum(math.prod(shape) for shape in task.shapes.values()) == task.size


def test_a_task_keeps_no_part_of_the_module_it_was_given() -> None:
    module = small_module()
    task = Task(module, dtype=torch.float64)
    before = task.initial.clone()
    with torch.no_grad():
        for p in module.parameters():
            p.zero_()
    assert torch.equal(task.initial, before)
    batch = small_batch(3, 0)
    assert task.outputs(before, batch.x).any()


def test_outputs_have_no_dropout() -> None:
    module = nn.Sequential(nn.Flatten(), nn.Linear(25, 3), nn.Dropout(0.9)).double()
    task, batch = Task(module, dtype=torch.float64), small_batch(4, 0)
    expected = module[1](batch.x.flatten(1))
    assert torch.equal(task.outputs(task.initial, batch.x), expected)
    assert isinstance(task.module(task.initial)[2], nn.Dropout)


def test_a_task_describes_itself() -> None:
    task = Task(small_module(), quantile, torch.float64)
    assert repr(task) == "Task(Sequential, 77 parameters, float64)"
    assert task.loss_name == f"{__name__}.quantile"
    assert Task(small_module()).loss_name == "dpdl.tasks.losses.cross_entropy"
    assert Task(small_module(), nn.L1Loss()).loss_name.endswith("loss.L1Loss")


def per_record(outputs: Tensor, targets: Tensor) -> Tensor:
    return (outputs - targets).square()


def impossible(outputs: Tensor, targets: Tensor) -> Tensor:
    raise RuntimeError("first line\nsecond line")


def one_number(outputs: Tensor, targets: Tensor) -> Tensor:
    return outputs.mean()


@pytest.mark.parametrize(
    ("loss", "score", "message"),
    [
        (per_record, "squared-error", r"one number for a batch, not .*\(1, 3\)\."),
        (impossible, "squared-error", r"sample by sample .*: first line\.$"),
        (squared_error, "accuracy", "The score 'accuracy' failed: RuntimeError"),
        (squared_error, one_number, r"'one_number' must return one number per record"),
        (squared_error, impossible, "'impossible' failed: RuntimeError: first line"),
    ],
)
def test_check_tries_loss_and_score_as_well(
    loss: Loss, score: object, message: str
) -> None:
    chosen = score_of(score) if isinstance(score, str) else None
    own = chosen or Score(score.__name__, score)  # type: ignore[attr-defined,arg-type]
    task = Task(small_module(), loss, torch.float64, own)
    batch = of_kind("numbers", 2)
    with pytest.raises(InputError, match=message) as caught:
        task.check(batch.x, batch.y, 3)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("loss", "kind"), LOSSES.values(), ids=LOSSES)
def test_right_tasks_pass_the_check(loss: Loss, kind: str) -> None:
    name = {"classes": "accuracy", "labels": "label-accuracy"}.get(
        kind, "squared-error"
    )
    batch = of_kind(kind, 2)
    task = Task(small_module(), loss, torch.float64, score_of(name))
    task.check(batch.x, batch.y, 3)
    with pytest.raises(InputError, match="one row of 4 outputs"):
        task.check(batch.x, batch.y, 4)
