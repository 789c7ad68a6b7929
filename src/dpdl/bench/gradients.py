"""Sums of clipped per-sample gradients: ours, and the ways that people know.

All ways get the same (model, batch) pairs: LeNet on 28 x 28 images. Each may use all cores. Ours take whole pairs to
the cores. Of the others, the better of two is reported: torch's own threads on one pair after another, or whole pairs
with one thread each.
"""

from __future__ import annotations

import copy
import threading
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap

from dpdl.bench.repeats import interleaved
from dpdl.parallel import cores, each
from dpdl.privacy.clip import PerSample
from dpdl.tasks.losses import cross_entropy
from dpdl.tasks.models import lenet
from dpdl.tasks.task import Task
from dpdl.types import Batch

SHAPE, CLASSES, CLIP = (1, 28, 28), 10, 2.0
MATMUL = 1536
Way = Callable[[Batch], object]


def measure(batch_size: int, pairs: int, repeats: int) -> dict[str, Any]:
    """Microseconds per sample of every way, ratios, and the share of the machine's matmul peak."""
    torch.manual_seed(0)
    module = lenet(SHAPE, CLASSES)
    batches = [_batch(batch_size) for _ in range(pairs)]
    fused, plain = Task(module), Task(module)
    fused.hasten(SHAPE)
    clip = PerSample(CLIP)
    ours: dict[str, Way] = {
        "plain": lambda b: clip.gradient(plain, plain.initial.clone(), b, batch_size)
    }
    if fused.fused:
        ours["fused"] = lambda b: clip.gradient(
            fused, fused.initial.clone(), b, batch_size
        )
    others: dict[str, Way] = {
        "torch_func": _torch_func(module),
        "plain_backward": _backward(module),
    }
    opacus = _opacus(module)
    if opacus:
        others["opacus"] = opacus
    ways: dict[str, Callable[[], object]] = {}
    for name, way in {**ours, **others}.items():
        ways[f"{name} by pairs"] = _by_pairs(way, batches)
    for name, way in others.items():
        ways[f"{name} by torch"] = _by_torch(way, batches)
    left, right = torch.randn(MATMUL, MATMUL), torch.randn(MATMUL, MATMUL)
    ways["matmul"] = _with_threads(cores(), lambda: left @ right)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Opacus' hooks make torch warn
        seconds = interleaved(ways, repeats)
    peak = 2 * MATMUL**3 / seconds.pop("matmul")
    samples = pairs * batch_size
    best = {
        name: min(s for way, s in seconds.items() if way.split(" by ")[0] == name)
        for name in (*ours, *others)
    }
    us = {name: best[name] / samples * 1e6 if name in best else None for name in _NAMES}
    return {
        "us_per_sample": us,
        "ratio_opacus": _ratio(us["opacus"], us["fused"]),
        "ratio_plain_backward": _ratio(us["plain_backward"], us["fused"]),
        "ratio_torch_func": _ratio(us["torch_func"], us["fused"]),
        "peak_share": None
        if us["fused"] is None
        else 2 * multiply_adds() / (us["fused"] * 1e-6) / peak,
        "peak_gflops": peak / 1e9,
        "by_way": {name: s / samples * 1e6 for name, s in seconds.items()},
        "multiply_adds": multiply_adds(),
        "batch": batch_size,
        "pairs": pairs,
        "repeats": repeats,
        "cores": cores(),
    }


_NAMES = ("fused", "plain", "torch_func", "opacus", "plain_backward")


def multiply_adds() -> int:
    """Of one sample's gradient, dense: forward, gradients of weights, and gradients of inputs but the first layer's."""
    conv1, conv2 = 24 * 24 * 25 * 6, 8 * 8 * 150 * 16
    linear = 256 * 120 + 120 * 84 + 84 * 10
    return 2 * conv1 + 3 * conv2 + 3 * linear


def _ratio(other: float | None, ours: float | None) -> float | None:
    return other / ours if other and ours else None


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
    """Opacus' per-sample gradients, clipped as its optimizer does; None when it is not installed."""
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
