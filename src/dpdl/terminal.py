"""Where people read. Nothing else is printed to with rich, so one rule holds everywhere."""

from __future__ import annotations

import os
import select
from collections.abc import Iterable
from typing import Any, final

import rich.console
from rich.text import Text

from dpdl.text import plain


@final
class Console(rich.console.Console):
    """Standard output or standard error, whose reader may go away.

    `dpdl run 2>&1 | head` has read enough; the run goes on, and prints no more.

    Names of folders come from outside: control characters in a line are printed as escapes.
    """

    def render_str(self, text: str, **how: Any) -> Text:
        """The line as it is shown; a terminal would act upon some characters of a name."""
        return super().render_str(plain(text), **how)

    def on_broken_pipe(self) -> None:
        """Nobody reads on: what is still to be printed goes nowhere. Rich would end the program."""
        self.quiet = True
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.file.fileno())
        os.close(nowhere)


def unread(outputs: Iterable[int] = (1, 2)) -> bool:
    """Whether one of the outputs is a pipe whose reader has gone away."""
    asked = select.poll()
    for output in outputs:
        asked.register(output, 0)  # errors are told without being asked for
    return any(event & select.POLLERR for _, event in asked.poll(0))
