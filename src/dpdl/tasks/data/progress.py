"""The progress of a fetch: bars on standard error, or nothing, behind one small interface."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Literal, Protocol

import rich.progress
from rich.text import Text

from dpdl.terminal import Console


class DownloadBar:
    """The bar of one download; `total`, `update`, `reset` and `close` are called by pooch."""

    def __init__(self, display: rich.progress.Progress, name: str) -> None:
        self._display = display
        self._task = display.add_task(name, total=None)
        self._total = 0

    @property
    def total(self) -> int:
        """The size in bytes; 0 while unknown."""
        return self._total

    @total.setter
    def total(self, size: int) -> None:
        self._total = size
        self._display.update(self._task, total=size or None)

    def update(self, size: int) -> None:
        """Add `size` bytes."""
        self._display.advance(self._task, size)

    def reset(self) -> None:
        """Start again from zero."""
        self._display.update(self._task, completed=0)

    def close(self) -> None:
        """Show the download as finished."""
        self._display.update(
            self._task, total=self._total or 1, completed=self._total or 1
        )


class FetchProgress(Protocol):
    """Where a source reports its progress."""

    def bar(self, name: str) -> DownloadBar | Literal[False]:
        """A bar for one download as pooch takes it; False for none."""

    def waiting(self, what: str) -> AbstractContextManager[None]:
        """Show that `what` is under way, without knowing how far it is."""


class SilentProgress:
    """Shows nothing."""

    def bar(self, name: str) -> Literal[False]:
        """No bar."""
        return False

    def waiting(self, what: str) -> AbstractContextManager[None]:
        """Nothing shown."""
        return nullcontext()


class ShownProgress:
    """Bars on standard error; standard output stays free for results."""

    def __init__(self, display: rich.progress.Progress) -> None:
        self._display = display

    def bar(self, name: str) -> DownloadBar:
        """A bar with bytes and time left."""
        self.forget_unfinished()
        return DownloadBar(self._display, name)

    @contextmanager
    def waiting(self, what: str) -> Iterator[None]:
        """A moving bar."""
        self.forget_unfinished()
        task = self._display.add_task(what, total=None, sizeless=True)
        yield
        self._display.update(task, total=1, completed=1)

    def forget_unfinished(self) -> None:
        """Remove the bars that a failed source left behind."""
        for task in self._display.tasks:
            if not task.finished:
                self._display.remove_task(task.id)


class _Size(rich.progress.DownloadColumn):
    def render(self, task: rich.progress.Task) -> Text:
        """The bytes so far; nothing for tasks that do not count bytes."""
        return Text() if task.fields.get("sizeless") else super().render(task)


@contextmanager
def reporting(shown: bool) -> Iterator[FetchProgress]:
    """The progress of one fetch, shown on standard error or not at all."""
    if not shown:
        yield SilentProgress()
        return
    columns = (
        rich.progress.TextColumn("{task.description}"),
        rich.progress.BarColumn(),
        _Size(),
        rich.progress.TimeRemainingColumn(elapsed_when_finished=True),
    )
    with rich.progress.Progress(*columns, console=Console(stderr=True)) as display:
        progress = ShownProgress(display)
        yield progress
        progress.forget_unfinished()
