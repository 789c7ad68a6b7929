"""What a person sees while many runs go on."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

from rich import progress
from rich.console import Console
from rich.markup import escape

if TYPE_CHECKING:
    from dpdl.studies.pool_messages import Ending, News


class Board:
    """A line on standard error for every run that ends, and which runs are going on."""

    def __init__(self, hidden: bool) -> None:
        self._console = Console(stderr=True)
        self._hidden = hidden
        self._going: dict[str, int] = {}
        self._ended = 0
        self._bar = progress.Progress(
            progress.SpinnerColumn(),
            progress.TextColumn("{task.description}"),
            progress.TimeElapsedColumn(),
            console=self._console,
            transient=True,
            disable=hidden or not self._console.is_terminal,
        )
        self._task = self._bar.add_task("checking", total=None)

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
        self._bar.update(self._task, description=f"{self._ended} ended{self._others()}")

    def _others(self) -> str:
        going = ", ".join(
            f"{name} (round {t})" if t else name for name, t in self._going.items()
        )
        return f"; going on: {going}" if going else ""

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
