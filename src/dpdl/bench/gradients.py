"""Sums of clipped per-sample gradients: ours, and the ways that people know.

All ways get the same (model, batch) pairs: LeNet on 28 x 28 images. Each may use all cores. Ours
take whole pairs to the cores. Of the others, the better of two is reported: torch's own threads on
one pair after another, or whole pairs with one thread each.
"""

from __future__ import annotations

import copy
import threading
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap

from dpdl.bench.repeats import interleaved
from dpdl.folder.bench_results import GradientSpeeds
from dpdl.parallel import cores, each
from dpdl.privacy.clip import PerSample
from dpdl.tasks.losses import cross_entropy
from dpdl.tasks.models import lenet
from dpdl.tasks.task import Task
from dpdl.types import Batch

SHAPE, CLASSES, CLIP = (1, 28, 28), 10, 2.0
MATMUL = 1536
Way = Callable[[Batch], object]
Timed = dict[str, Callable[[], object]]
NAMES = ("fused", "plain", "torch_func", "opacus", "plain_backward")
PEAK = "matmul"


def measure_gradients(batch_size: int, pairs: int, repeats: int) -> GradientSpeeds:
    """Microseconds per sample of every way, ratios, and the share of the machine's matmul peak."""
    torch.manual_seed(0)
    module = lenet(SHAPE, CLASSES)
    batches = [_batch(batch_size) for _ in range(pairs)]
    ours, others = _ours(module, batch_size), _others(module)
    timed: Timed = {
        f"{name} by pairs": _by_pairs(way, batches)
        for name, way in {**ours, **others}.items()
    }
    timed |= {
        f"{name} by torch": _by_torch(way, batches) for name, way in others.items()
    }
    timed[PEAK] = _matmul()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Opacus' hooks make torch warn
        seconds = interleaved(timed, repeats)
    return gradient_speeds(seconds, batch_size, pairs, repeats)


def gradient_speeds(
    seconds: Mapping[str, float], batch_size: int, pairs: int, repeats: int
) -> GradientSpeeds:
    """Times of variants such as `opacus by torch`, and of a matrix product, as ratios."""
    peak = 2 * MATMUL**3 / seconds[PEAK]
    samples = pairs * batch_size
    by_way = {
        name: value / samples * 1e6 for name, value in seconds.items() if name != PEAK
    }
    us = {name: _better(name, by_way) for name in NAMES}
    fused = us["fused"]
    useful = 2 * multiply_adds() / (fused * 1e-6) if fused else None
    return GradientSpeeds(
        us_per_sample=us,
        ratio_opacus=_ratio(us["opacus"], fused),
        ratio_plain_backward=_ratio(us["plain_backward"], fused),
        ratio_torch_func=_ratio(us["torch_func"], fused),
        peak_share=None if useful is None else useful / peak,
        peak_gflops=peak / 1e9,
        by_way=by_way,
        multiply_adds=multiply_adds(),
        batch=batch_size,
        pairs=pairs,
        repeats=repeats,
        cores=cores(),
    )


def multiply_adds() -> int:
    """Of one sample's gradient, dense.

    Forward, gradients of weights, and gradients of inputs but the first layer's.
    """
    conv1, conv2 = 24 * 24 * 25 * 6, 8 * 8 * 150 * 16
    linear = 256 * 120 + 120 * 84 + 84 * 10
    return 2 * conv1 + 3 * conv2 + 3 * linear


def _better(name: str, by_way: Mapping[str, float]) -> float | None:
    found = [us for way, us in by_way.items() if way.split(" by ")[0] == name]
    return min(found, default=None)


def _ratio(other: float | None, ours: float | None) -> float | None:
    return other / ours if other and ours else None


# ------------------------------------------------------------------ ways
def _ours(module: nn.Module, batch_size: int) -> dict[str, Way]:
    """The plain path, and the fused one if its kernels are compiled."""
    clip = PerSample(CLIP)

    def by(task: Task) -> Way:
        return lambda b: clip.gradient(task, task.initial.clone(), b, batch_size)

    fused = Task(module)
    fused.hasten(SHAPE)
    found = {"plain": by(Task(module))}
    return {**found, "fused": by(fused)} if fused.fused else found


def _others(module: nn.Module) -> dict[str, Way]:
    found = {"torch_func": _torch_func(module), "plain_backward": _backward(module)}
    opacus = _opacus(module)
    return {**found, "opacus": opacus} if opacus else found


def _matmul() -> Callable[[], object]:
    left, right = torch.randn(MATMUL, MATMUL), torch.randn(MATMUL, MATMUL)
    return _with_threads(cores(), lambda: left @ right)


def _batch(size: int) -> Batch:
    return Batch(
        torch.randn(size, *SHAPE),
        torch.randint(0, CLASSES, (size,)),
        torch.arange(size),
    )


def _with_threads(count: int, work: Callable[[], object]) -> Callable[[], object]:
    def run() -> object:
        torch.set_num_threads(count)
        return work()

    return run


def _by_pairs(way: Way, batches: list[Batch]) -> Callable[[], object]:
    return _with_threads(1, lambda: each(way, batches))


def _by_torch(way: Way, batches: list[Batch]) -> Callable[[], object]:
    return _with_threads(cores(), lambda: [way(batch) for batch in batches])


def _own_copy(
    module: nn.Module, prepare: Callable[[nn.Module], Any]
) -> Callable[[], Any]:
    """A copy of the module for every thread."""
    local = threading.local()

    def mine() -> Any:
        if not hasattr(local, "module"):
            local.module = prepare(copy.deepcopy(module))
        return local.module

    return mine


def _torch_func(module: nn.Module) -> Way:
    """The recipe of torch's documentation: vmap over grad, norms, a weighted sum."""
    mine = _own_copy(module, lambda m: m)
    parameters = {name: p.detach() for name, p in module.named_parameters()}

    def way(batch: Batch) -> object:
        own = mine()

        def loss(p: dict[str, Tensor], x: Tensor, y: Tensor) -> Tensor:
            return cross_entropy(functional_call(own, p, (x[None],)), y[None])

        g = vmap(grad(loss), (None, 0, 0))(parameters, batch.x, batch.y)
        norms = torch.stack([t.flatten(1).norm(dim=1) for t in g.values()]).norm(dim=0)
        scale = (CLIP / norms).clamp(max=1)
        return [torch.tensordot(scale, t, dims=1) for t in g.values()]

    return way


def _backward(module: nn.Module) -> Way:
    """No privacy at all: one ordinary backward pass of the mean loss."""
    mine = _own_copy(module, lambda m: m)

    def way(batch: Batch) -> object:
        own = mine()
        own.zero_grad()
        cross_entropy(own(batch.x), batch.y).backward()
        return own

    return way


def _opacus(module: nn.Module) -> Way | None:
    """Opacus' per-sample gradients, clipped as its optimizer does; None if it is not installed."""
    try:
        from opacus import GradSampleModule
    except ImportError:
        return None

    mine = _own_copy(module, lambda m: GradSampleModule(m, loss_reduction="sum"))

    def way(batch: Batch) -> object:
        own = mine()
        own.zero_grad(set_to_none=True)
        nn.functional.cross_entropy(own(batch.x), batch.y, reduction="sum").backward()
        samples = [p.grad_sample for p in own.parameters()]
        norms = torch.stack([g.flatten(1).norm(dim=1) for g in samples], dim=1).norm(
            dim=1
        )
        scale = (CLIP / (norms + 1e-6)).clamp(max=1)
        return [torch.einsum("i,i...", scale, g) for g in samples]

    return way
