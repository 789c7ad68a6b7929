"""What a person sees while many runs go on."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING

from rich import progress
from rich.markup import escape
from rich.text import Text

from dpdl.terminal import Console

if TYPE_CHECKING:
    from dpdl.studies.pool_messages import Ending, News


OTHERS = len("⠋ 0:00:00  ")
"""Columns of the terminal that the spinner and the time take."""


class _Fitting(progress.ProgressColumn):
    """How many runs ended, and the names of as many that go on as the terminal has room for."""

    def __init__(self, console: Console) -> None:
        self._console = console
        super().__init__()

    def render(self, task: progress.Task) -> Text:
        """One line that is never cut."""
        room = self._console.width - OTHERS
        return Text(going_on(task.fields["ended"], task.fields["going"], room))


def going_on(ended: str, names: Sequence[str], room: int) -> str:
    """The names that fit beside how many ended; of the others their number."""
    for count in range(len(names), 0, -1):
        more = f" and {len(names) - count} more" if count < len(names) else ""
        line = f"{ended}; going on: {', '.join(names[:count])}{more}"
        if len(line) <= room:
            return line
    return f"{ended}; {len(names)} going on" if names else ended


class Board:
    """A line on standard error for every run that ends, and which runs are going on."""

    def __init__(self, hidden: bool) -> None:
        self._console = Console(stderr=True)
        self._hidden = hidden
        self._going: dict[str, int] = {}
        self._ended = 0
        self._bar = progress.Progress(
            progress.SpinnerColumn(),
            _Fitting(self._console),
            progress.TimeElapsedColumn(),
            console=self._console,
            transient=True,
            disable=hidden or not self._console.is_terminal,
        )
        self._task = self._bar.add_task("", total=None, ended="checking", going=[])

    def __enter__(self) -> Board:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def __call__(self, name: str, news: News) -> None:
        """Something happened to a run."""
        from dpdl.studies.pool_messages import Ending

        if isinstance(news, Ending):
            self._going.pop(name, None)
            self._ended += 1
            self._say(f"{name}: {_ending(news)}{self._others()}")
        else:
            self._going[name] = news.round
        ended = f"{self._ended} ended"
        self._bar.update(self._task, ended=ended, going=self._names())

    def _others(self) -> str:
        going = ", ".join(self._names())
        return f"; going on: {going}" if going else ""

    def _names(self) -> list[str]:
        going = self._going.items()
        return [f"{name} (round {t})" if t else name for name, t in going]

    def _say(self, line: str) -> None:
        if not self._hidden:
            self._console.print(escape(line), highlight=False, soft_wrap=True)


def _ending(ending: Ending) -> str:
    if reached := ending.reached:
        early = ", its budget is spent" if reached.stopped else ""
        return f"{reached.shown} after round {reached.round}{early}"
    if ending.error:
        return f"{ending.state}: {ending.error}"
    return f"{ending.state}, its state is saved"
