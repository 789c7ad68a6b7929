"""What a person sees while a run goes on and when it has ended."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from rich import progress
from rich.console import Console
from rich.table import Table

from dpdl.folder.metrics import Metrics
from dpdl.planning.plan import Plan
from dpdl.privacy.epsilon import Epsilon
from dpdl.training.train import Result


@contextmanager
def counting(
    what: str, total: int, hidden: bool = False
) -> Iterator[Callable[[int], None]]:
    """A bar on a terminal, to be called with how many are done; it goes away at the end."""
    console = Console(stderr=True)
    disabled = hidden or not console.is_terminal
    with progress.Progress(console=console, disable=disabled, transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.update(task, completed=done)


class RunProgress:
    """A bar with loss, accuracy, rounds per second and time left.

    Plain lines when nobody looks at a terminal.
    """

    def __init__(self, plan: Plan, hidden: bool) -> None:
        self._console = Console(stderr=True)
        self._hidden = hidden or os.environ.get("RANK", "0") != "0"
        self._rounds = plan.experiment.rounds
        self._bar = progress.Progress(
            progress.TextColumn("round {task.completed}/{task.total}"),
            progress.BarColumn(),
            progress.TextColumn("{task.fields[so_far]}  {task.fields[rate]}"),
            progress.TimeRemainingColumn(compact=True),
            console=self._console,
            disable=self._hidden or not self._console.is_terminal,
            speed_estimate_period=60,
        )
        self._task = self._bar.add_task("", total=self._rounds, so_far="", rate="")
        if not self._hidden:
            self._console.print(headline(plan), highlight=False)

    def __enter__(self) -> RunProgress:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def __call__(self, t: int, metrics: Metrics | None) -> None:
        """One round is done."""
        speed = self._bar.tasks[0].speed
        self._bar.update(
            self._task, completed=t, rate=f"{speed:.2f} rounds/s" if speed else ""
        )
        if metrics is None:
            return
        loss, score = _number(metrics.train_loss.mean), metrics.score
        quality = f"{score.label} {score.show(score.mean, 1)}"
        so_far = f"loss {loss}  {quality}  epsilon {_epsilon(metrics.epsilon)}"
        self._bar.update(self._task, so_far=so_far)
        if not self._hidden and not self._console.is_terminal:
            line = f"round {t}/{self._rounds}  {so_far}  {metrics.seconds:.1f} s"
            self._console.print(line, highlight=False, soft_wrap=True)


def headline(plan: Plan) -> str:
    """One line on what is about to run."""
    e, sizes = plan.experiment, plan.privacy.records
    return (
        f"{e.algorithm} on {plan.source.name} ({min(sizes)} to {max(sizes)} records per "
        f"agent, declared), {e.model} with {plan.task.size:,} parameters, "
        f"{plan.graph.name} of {len(plan.graph)} agents, "
        f"sigma = {plan.privacy.sigma:.3g}"
    )


def show_result(result: Result, picture: Path | None) -> None:
    """The result table and the privacy statement."""
    s, first, last = result.summary, result.metrics[0], result.metrics[-1]
    console = Console()
    place = f"{s.graph} of {s.agents} agents"
    table = Table(title=f"{s.algorithm} on {s.dataset}, {place}", min_width=70)
    table.add_column("what")
    table.add_column("value", justify="right")
    score = s.score
    ends = f"{score.show(score.worst)} / {score.show(score.best)}"
    losses = f"{_number(first.train_loss.mean)} / {_number(last.train_loss.mean)}"
    clipped = _share(last.diagnostics.get("clip_fraction"))
    table.add_row(f"test {score.label}, mean over agents", score.show(score.mean))
    table.add_row("worst / best agent", ends)
    table.add_row("average of all models", score.show(score.average_model))
    table.add_row(f"training loss, round {first.round} / {last.round}", losses)
    table.add_row("distance of the agents' models (RMS)", f"{s.consensus_distance:.4g}")
    table.add_row("clipped gradients, last round", clipped)
    table.add_row("sent by all agents", f"{s.bytes_sent / 1e6:,.1f} MB")
    table.add_row("noise multiplier sigma", f"{s.sigma:.4g}")
    if s.epsilon.claimed_theorem1.known:
        table.add_row(
            "epsilon claimed by Theorem 1", _epsilon(s.epsilon.claimed_theorem1)
        )
    for name, value in s.epsilon.proven.items():
        table.add_row(f"epsilon proven, {name.replace('_', ' ')}", _epsilon(value))
    share = result.timing.evaluation / result.timing.seconds
    table.add_row("time", f"{s.seconds:.1f} s, {share:.0%} of it evaluation")
    console.print(table)
    console.print(f"Privacy: {s.privacy_statement}", highlight=False)
    console.print(
        f"Run folder: {s.run_dir}{f'   Curves: {picture}' if picture else ''}",
        highlight=False,
        soft_wrap=True,
    )


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if value < 10_000 else f"{value:,.0f}"


def _epsilon(value: Epsilon) -> str:
    return "unbounded" if value.unbounded else _number(value.value)


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"
