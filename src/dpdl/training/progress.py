"""How far a run is, for a person who watches: one line that fits its terminal or its notebook.

What does not fit is left out, the least important first: the speed, the bar, epsilon, the loss,
the score. The round and the time left always stay.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Protocol, final

from rich.console import RenderableType
from rich.progress import Progress, ProgressColumn, Task
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from dpdl.folder.metrics import Metrics
from dpdl.planning.plan import Plan
from dpdl.privacy.epsilon import Epsilon
from dpdl.terminal import Console

BAR = (8, 40)
"""The shortest bar that is drawn, and the longest."""
NOTEBOOK_SECONDS = 0.5
"""Between two lines in a notebook."""

Part = tuple[str, int]
"""A part of the line and its rank: 0 always stays, and the largest goes first."""
BAR_RANK = 4
"""Of the bar, among the ranks of other parts."""


class Shown(Protocol):
    """Whatever shows the state of a run."""

    def start(self) -> None:
        """Before the first round."""

    def show(self, t: float, parts: Iterable[Part], finished: bool) -> None:
        """After round t."""

    def stop(self) -> None:
        """After the last round, or when the run has failed."""


@final
class RunProgress:
    """Watches a run: round, bar, loss, score, epsilon, speed and time left.

    With `log`, plain lines where nobody looks at a terminal; otherwise nothing is written there.
    """

    def __init__(
        self,
        plan: Plan,
        hidden: bool,
        log: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._console = Console(stderr=True)
        self._hidden = hidden or os.environ.get("RANK", "0") != "0"
        self._log = log and not self._hidden and not self._console.is_terminal
        self._rounds = plan.experiment.rounds
        self._pace = Pace(self._rounds, clock)
        self._quality: list[Part] = []
        self._shown = None if self._hidden else _display(self._console, self._rounds)
        if self._shown or self._log:
            self._console.print(headline(plan), highlight=False)

    def __enter__(self) -> RunProgress:
        if self._shown:
            self._shown.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._shown:
            self._shown.stop()

    def __call__(self, t: int, metrics: Metrics | None) -> None:
        """One round is done."""
        if metrics is not None:
            self._quality = _quality(metrics)
        if self._log and metrics is not None:
            so_far = "  ".join(text for text, _ in self._quality)
            line = f"round {t}/{self._rounds}  {so_far}  {metrics.seconds:.1f} s"
            self._console.print(line, highlight=False, soft_wrap=True)
        speed, left = self._pace(t)
        if self._shown:
            rate = [(f"{speed:.3g} rounds/s", 5)] if speed else []
            parts = [(f"round {t}/{self._rounds}", 0), *self._quality, *rate, *left]
            self._shown.show(t, parts, finished=t >= self._rounds)


def progress_of(plan: Plan, asked: bool | None) -> RunProgress:
    """The progress of a run that Python code started.

    True: shown anywhere, in a log as plain lines; False: never; None: if a person looks on.
    """
    return RunProgress(plan, hidden=not shows(asked), log=asked is True)


def shows(asked: bool | None) -> bool:
    """Whether anything is shown; None: if a person looks on."""
    return watched() if asked is None else asked


@final
class Pace:
    """How fast something goes on, and how long it will take; unknown at the first call."""

    def __init__(
        self, total: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._total = total
        self._clock = clock
        self._began: tuple[float, float] | None = None  # what was done first, and when

    def __call__(self, done: float) -> tuple[float | None, list[Part]]:
        """Speed per second, and the time left as a part of a line."""
        now = self._clock()
        first, began = self._began = self._began or (done, now)
        if done <= first or now <= began:
            return None, []
        speed = (done - first) / (now - began)
        left = clock_time((self._total - done) / speed)
        return speed, [(f"{left} left", 0)]


def headline(plan: Plan) -> str:
    """One line on what is about to run."""
    e, sizes = plan.experiment, plan.privacy.records
    return (
        f"{e.algorithm} on {plan.source.name} ({min(sizes)} to {max(sizes)} records per "
        f"agent, declared), {e.model} with {plan.task.size:,} parameters, "
        f"{plan.graph.name} of {len(plan.graph)} agents, "
        f"sigma = {plan.privacy.sigma:.3g}"
    )


def watched(stream_is_terminal: bool | None = None) -> bool:
    """Whether a person looks on: standard error is a terminal, or this is a notebook."""
    if in_notebook():
        return True
    if stream_is_terminal is None:
        stream_is_terminal = sys.stderr.isatty()
    return stream_is_terminal


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    python = sys.modules.get("IPython")
    shell = python.get_ipython() if python else None
    return shell is not None and hasattr(shell, "kernel")


def _display(console: Console, rounds: int) -> Shown | None:
    if in_notebook():
        from IPython.display import display  # type: ignore[import-not-found,unused-ignore]

        return NotebookLine(display)
    if not console.is_terminal:
        return None
    return TerminalLine(console, rounds, f"round 0/{rounds}")


# ------------------------------------------------------------------ parts of the line
def fitting(parts: Iterable[Part], room: int) -> tuple[list[str], int]:
    """The texts that fit, in order, and the width of the bar between them; 0: there is none."""
    every = list(parts)
    kept, used = set[int](), 0
    bar = 0
    for rank in range(max((rank for _, rank in every), default=0) + 1):
        if rank == BAR_RANK and room - used - 1 >= BAR[0]:
            bar = BAR[0]
            used += BAR[0] + 1
        for k, (text, own) in enumerate(every):
            needed = len(text) + (2 if kept else 0)
            if own == rank and (rank == 0 or used + needed <= room):
                kept.add(k)
                used += needed
    if bar:
        bar = min(BAR[1], bar + max(0, room - used))
    return [text for k, (text, _) in enumerate(every) if k in kept], bar


def _quality(metrics: Metrics) -> list[Part]:
    score = metrics.score
    return [
        (f"loss {number(metrics.train_loss.mean)}", 2),
        (f"{score.label} {score.show(score.mean, 1)}", 1),
        (f"epsilon {shown_epsilon(metrics.epsilon)}", 3),
    ]


def number(value: float | None) -> str:
    """Four digits, or all before the point; a dash for what nobody knows."""
    if value is None:
        return "-"
    return f"{value:.4g}" if value < 10_000 else f"{value:,.0f}"


def shown_epsilon(value: Epsilon) -> str:
    """An epsilon as `number` shows it, or that it is unbounded."""
    return "unbounded" if value.unbounded else number(value.value)


def clock_time(seconds: float) -> str:
    """Minutes and seconds, and hours if there are any."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


# ------------------------------------------------------------------ where it is shown
@final
class TerminalLine:
    """A line at the bottom of a terminal, redrawn in place."""

    def __init__(
        self, console: Console, total: float, first: str, transient: bool = False
    ) -> None:
        self._bar = Progress(_Line(console), console=console, transient=transient)
        self._task = self._bar.add_task("", total=total, parts=[(first, 0)])

    def start(self) -> None:
        """Draw it."""
        self._bar.start()

    def show(self, t: float, parts: Iterable[Part], finished: bool = False) -> None:
        """Draw it again, a few times a second at most."""
        self._bar.update(self._task, completed=t, parts=parts)

    def stop(self) -> None:
        """Leave it as it is."""
        self._bar.stop()


class _Line(ProgressColumn):
    """The whole line as the only column, so that it knows its width."""

    def __init__(self, console: Console) -> None:
        self._console = console
        super().__init__()

    def render(self, task: Task) -> RenderableType:
        """The parts that fit, and the bar after the first."""
        texts, width = fitting(task.fields["parts"], self._console.width)
        line = Table.grid()
        cells: list[RenderableType] = [Text(texts[0], no_wrap=True)]
        if width:
            cells.append(Text(" "))
            total = task.total or 1
            cells.append(ProgressBar(total, task.completed, width=width))
        cells += [Text(f"  {text}", no_wrap=True) for text in texts[1:]]
        line.add_row(*cells)
        return line


@final
class NotebookLine:
    """A line below the cell of a notebook, replaced now and then.

    `display` is IPython's: what it returns can be updated, and no further package is needed.
    """

    def __init__(
        self,
        display: Callable[..., Updatable],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._display = display
        self._clock = clock
        self._handle: Updatable | None = None
        self._last = 0.0

    def start(self) -> None:
        """Nothing is shown before the first round."""

    def show(self, t: float, parts: Iterable[Part], finished: bool) -> None:
        """Replace the line, unless that was done a moment ago."""
        now = self._clock()
        if self._handle and not finished and now - self._last < NOTEBOOK_SECONDS:
            return
        self._last = now
        content = {"text/plain": "  ".join(text for text, _ in parts)}
        if self._handle is None:
            self._handle = self._display(content, raw=True, display_id=True)
        else:
            self._handle.update(content, raw=True)

    def stop(self) -> None:
        """The last line stays."""


class Updatable(Protocol):
    """What IPython's `display` returns."""

    def update(self, content: object, *, raw: bool) -> None:
        """Show other content in the same place."""
