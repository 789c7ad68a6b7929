"""The fused path gives the numbers of the plain path, up to the rounding of float32."""

from __future__ import annotations

import gc
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator

import pytest
import torch
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from torch import nn

from dpdl.native import library
from dpdl.parallel import each
from dpdl.privacy.clip import PerChunk, PerSample, Unclipped
from dpdl.tasks.models import cnn, lenet, mlp
from dpdl.tasks.task import Task
from dpdl.types import Batch
from tests.tasks.fused_models import (
    at_a_kink,
    batch_of,
    compiled,
    difference,
    normal,
    pair,
)


def test_the_kernels_were_compiled_if_there_is_a_compiler() -> None:
    assert library() is not None or shutil.which("cc") is None


@st.composite
def networks(draw: st.DrawFn) -> tuple[nn.Module, tuple[int, ...], int]:
    """Convolutions of many kinds, then linear layers."""
    channels, height, width = (
        draw(st.integers(1, 4)),
        draw(st.integers(6, 14)),
        draw(st.integers(6, 14)),
    )
    shape = (channels, height, width)
    parts: list[nn.Module] = []
    normed = draw(st.booleans())
    for _ in range(draw(st.integers(0, 3))):
        kernel = draw(st.integers(1, 3)), draw(st.integers(1, 5))
        stride, padding = (
            draw(st.integers(1, 2)),
            (draw(st.integers(0, 2)), draw(st.integers(0, 2))),
        )
        rows = (height + 2 * padding[0] - kernel[0]) // stride + 1
        columns = (width + 2 * padding[1] - kernel[1]) // stride + 1
        if rows < 2 or columns < 2:
            break
        filters = draw(st.sampled_from([1, 5, 8, 9, 16, 20]))
        parts.append(
            nn.Conv2d(
                channels, filters, kernel, stride, padding, bias=draw(st.booleans())
            )
        )
        if normed:
            parts.append(
                normal(
                    filters,
                    draw(st.sampled_from([g for g in (1, 2, 5) if filters % g == 0])),
                )
            )
        after = draw(st.sampled_from(["", "r", "p", "rp", "pr"]))
        parts += [nn.ReLU() if letter == "r" else nn.MaxPool2d(2) for letter in after]
        channels, height, width = (
            filters,
            *((rows // 2, columns // 2) if "p" in after else (rows, columns)),
        )
    parts.append(nn.Flatten())
    units = channels * height * width
    for _ in range(draw(st.integers(0, 2))):
        outputs = draw(st.integers(1, 12))
        parts += [nn.Linear(units, outputs, bias=draw(st.booleans())), nn.ReLU()]
        parts += [nn.Dropout(0.3)] * draw(st.integers(0, 1))
        units = outputs
    classes = draw(st.integers(2, 5))
    torch.manual_seed(draw(st.integers(0, 1000)))
    return (
        nn.Sequential(*parts, nn.Linear(units, classes, bias=draw(st.booleans()))),
        shape,
        classes,
    )


@compiled
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    networks(),
    st.sampled_from([0, 1, 2, 7]),
    st.sampled_from([0.01, 0.5, 100.0]),
    st.integers(0, 50),
)
def test_fused_is_plain_for_networks_of_many_kinds(
    network, size: int, clip_norm: float, seed: int
) -> None:
    module, shape, classes = network
    for part in module:
        if isinstance(part, nn.Conv2d | nn.Linear):
            part.reset_parameters()
    plain, fused = pair(module, shape)
    batch = batch_of(size, shape, classes, seed)
    assume(not at_a_kink(module, batch))
    for clip in (PerSample(clip_norm), PerChunk(clip_norm, 3), Unclipped()):
        assert difference(plain, fused, batch, clip) < 3e-5
    x = batch_of(5, shape, classes, seed + 1).x
    assert (
        plain.outputs(plain.initial, x) - fused.outputs(fused.initial, x)
    ).abs().max() < 1e-3


@compiled
@pytest.mark.parametrize(
    ("make", "shape"),
    [(lenet, (1, 28, 28)), (cnn, (3, 32, 32)), (mlp, (1, 8, 8))],
    ids=lambda value: str(value)[:15],
)
def test_the_named_models_take_the_fused_path_and_agree(
    make, shape: tuple[int, ...]
) -> None:
    plain, fused = pair(make(shape, 10), shape)
    for size in (40, 150):  # fewer and more samples than fit into the buffers at once
        assert (
            difference(plain, fused, batch_of(size, shape, 10), PerSample(0.5)) < 3e-5
        )


@pytest.fixture(params=[0, 1, 2], ids=["any processor", "AVX2", "AVX-512"])
def kind(request: pytest.FixtureRequest) -> Iterator[int]:
    """The kernels of one kind of processor, or of the best kind that this machine has."""
    kernels = library()
    assert kernels
    kernels.dpdl_use_at_most(request.param)
    yield request.param
    kernels.dpdl_use_at_most(2)


NORMED = nn.Sequential(
    *(nn.Conv2d(2, 6, 3, padding=1), normal(6, 3), nn.ReLU(), nn.MaxPool2d(2)),
    *(
        nn.Conv2d(6, 20, (3, 2), stride=2),
        nn.GroupNorm(4, 20, affine=False),
        nn.Flatten(),
        nn.Linear(180, 10),
    ),
)


@compiled
@pytest.mark.parametrize(
    ("module", "shape"),
    [
        (lenet((1, 28, 28), 10), (1, 28, 28)),
        (cnn((3, 8, 8), 10), (3, 8, 8)),
        (NORMED, (2, 14, 12)),
    ],
    ids=["lenet", "cnn", "normed"],
)
def test_every_kind_of_processor_agrees(
    kind: int, module: nn.Module, shape: tuple[int, ...]
) -> None:
    plain, fused = pair(module, shape)
    assert difference(plain, fused, batch_of(30, shape, 10), PerSample(0.5)) < 3e-5


@compiled
def test_a_label_that_is_no_class_is_an_error() -> None:
    _, fused = pair(mlp((1, 2, 2), 3), (1, 2, 2))
    batch = batch_of(4, (1, 2, 2), 3)
    batch.y[2] = 3
    with pytest.raises(ValueError, match="not a class: they are 0 to 2"):
        PerSample(0.5).gradient(fused, fused.initial, batch, 4)


@compiled
def test_memory_is_given_back() -> None:
    def peak() -> int:
        gc.collect()
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    def use() -> None:
        _, fused = pair(cnn((3, 32, 32), 10), (3, 32, 32))
        PerSample(0.5).gradient(fused, fused.initial, batch_of(4, (3, 32, 32), 10), 4)

    for _ in range(3):
        use()
    before = peak()
    for _ in range(20):
        use()
    assert peak() - before < 5 * 20_000  # kB; each has 20 MB of weights and sums


@compiled
def test_bits_do_not_depend_on_threads_or_on_what_ran_before() -> None:
    _, fused = pair(lenet((1, 28, 28), 10), (1, 28, 28))
    batches = [batch_of(30 + k, (1, 28, 28), 10, k) for k in range(6)]
    clip = PerSample(0.5)
    alone = [
        clip.gradient(fused, fused.initial, batch, 7).gradient for batch in batches
    ]
    for order in (range(6), [3, 1, 5, 0, 4, 2]):
        together = each(
            lambda k: (
                clip.gradient(fused, fused.initial.clone(), batches[k], 7).gradient
            ),
            order,
        )
        assert all(
            torch.equal(alone[k], g) for k, g in zip(order, together, strict=True)
        )


@compiled
@pytest.mark.parametrize("bad", [torch.nan, torch.inf, 1e30])
def test_a_sample_that_is_not_finite_counts_as_zero_and_harms_no_other(
    bad: float,
) -> None:
    _, fused = pair(cnn((3, 8, 8), 10), (3, 8, 8))
    batch = batch_of(9, (3, 8, 8), 10)
    batch.x[4] = bad
    found = PerSample(0.5).gradient(fused, fused.initial, batch, 9)
    others = [k for k in range(9) if k != 4]
    without = PerSample(0.5).gradient(
        fused, fused.initial, Batch(*(part[others] for part in batch)), 9
    )
    assert found.broken == 1 and without.broken == 0
    assert torch.allclose(found.gradient, without.gradient, rtol=1e-5, atol=1e-8)


def test_another_loss_or_number_type_takes_the_plain_path() -> None:
    module = mlp((1, 2, 2), 3)
    for task in (
        Task(module, dtype=torch.float64),
        Task(module, loss=nn.functional.multi_margin_loss),
    ):
        task.hasten((1, 2, 2))
        assert task.fused is None


def test_without_kernels_all_take_the_plain_path() -> None:
    code = (
        "from dpdl.tasks.models import mlp; from dpdl.tasks.task import Task; import sys\n"
        "task = Task(mlp((1, 8, 8), 10)); task.hasten((1, 8, 8)); sys.exit(task.fused is not None)"
    )
    environment = {**os.environ, "DPDL_NATIVE": "0"}
    assert (
        subprocess.run(
            [sys.executable, "-c", code], env=environment, check=False
        ).returncode
        == 0
    )
