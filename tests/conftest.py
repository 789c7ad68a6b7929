"""Small worlds that many tests live in."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from threading import Lock

import pytest
import torch
from torch import nn

from dpdl.parallel import one_thread_per_operation
from dpdl.tasks.data import Dataset
from dpdl.types import Batch

SEEDING = Lock()
"""Threads share torch's seed."""


def small_module(seed: int = 0) -> nn.Module:
    """A convolution, a ReLU, a linear layer: 1 x 5 x 5 inputs, 3 classes."""
    with SEEDING, torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return nn.Sequential(
            nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(18, 3)
        ).double()


def small_batch(size: int, seed: int) -> Batch:
    """Random inputs for `small_module`."""
    draw = torch.Generator().manual_seed(seed)
    x = torch.randn(size, 1, 5, 5, generator=draw, dtype=torch.float64)
    y = torch.randint(0, 3, (size,), generator=draw)
    return Batch(x, y, torch.arange(size))


@pytest.fixture(autouse=True, scope="session")
def warnings_are_errors_elsewhere() -> Iterator[None]:
    """In processes that tests start, too; `filterwarnings` in `pyproject.toml` is about this one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONWARNINGS", "error")
        yield


@pytest.fixture(autouse=True, scope="session")
def nothing_is_remembered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Noise is calibrated anew, once for all tests and for the processes that they start."""
    base = tmp_path_factory.getbasetemp()
    all_workers = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DPDL_CALIBRATIONS", str(all_workers / "calibrations"))
        yield


@pytest.fixture(autouse=True, scope="session")
def modules_are_compiled_once() -> Iterator[None]:
    """A process that a test starts finds those of the one before it, whatever this one was told."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
        yield


@pytest.fixture(autouse=True)
def one_thread():
    """As in a run; many small operations would wait for the other threads longer than they take."""
    with one_thread_per_operation():
        yield


@pytest.fixture(scope="session")
def blobs() -> Dataset:
    """Data for `small_module`."""
    return small_data()


def small_data() -> Dataset:
    """Three classes of 1 x 5 x 5 inputs that a small model can learn: 600 records, 150 to test."""
    draw = torch.Generator().manual_seed(5)
    centres = torch.randn(3, 1, 5, 5, generator=draw)
    y = torch.arange(750) % 3
    x = centres[y] + 0.8 * torch.randn(750, 1, 5, 5, generator=draw)
    return Dataset(
        "blobs", x[:600], y[:600], x[600:], y[600:], 3, mean=(0.0,), std=(1.0,)
    )


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What was skipped has checked nothing: say so at the end, and why."""
    reasons: Counter[str] = Counter()
    for report in terminalreporter.stats.get("skipped", []):
        _, _, reason = report.longrepr
        reasons[reason.removeprefix("Skipped: ")] += 1
    if reasons:
        title = f"{reasons.total()} SKIPPED, AND NOT CHECKED"
        terminalreporter.write_sep("=", title, bold=True, yellow=True)
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"{count:4} x {reason}")
