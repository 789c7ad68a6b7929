"""What `dpdl demo` shows: what is going on, a table, and where the page is."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, final

from rich import progress
from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Column, Table

from dpdl.terminal import Console

if TYPE_CHECKING:
    from dpdl.attacks.workers import ShareWatch
    from dpdl.audit.measure import CountWatch
    from dpdl.folder.demo_facts import DemoFacts, DemoPart
    from dpdl.folder.metrics import Metrics
    from dpdl.planning.plan import Plan
    from dpdl.studies.demo.script import ScriptPart
    from dpdl.training.loop import Watch

WIDE = 78
"""Columns that the table needs; narrower terminals get a list."""


@final
class DemoProgress:
    """One line that moves, on a terminal, and one for every step that is done."""

    def __init__(self, hidden: bool, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True)
        self._hidden = hidden
        self._bar = progress.Progress(
            progress.SpinnerColumn(),
            progress.TextColumn(
                "{task.description}",
                table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1),
            ),
            progress.BarColumn(bar_width=12),
            progress.TimeElapsedColumn(),
            console=self._console,
            transient=True,
            expand=True,
            disable=hidden or not self._console.is_terminal,
        )
        self._task = self._bar.add_task("starting", total=None)
        self._part = 0
        self._begun = time.monotonic()

    def __enter__(self) -> DemoProgress:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    @property
    def shown(self) -> bool:
        """Whether somebody looks on."""
        return not self._hidden

    def say(self, text: str, style: str = "", indent: str = "   ") -> None:
        """A sentence that stays; it may be broken into lines."""
        if not self._hidden:
            _write(self._console, text, indent, indent or "   ", style)

    def doing(self, what: str) -> None:
        """Something is under way, nobody knows how far."""
        self._bar.reset(self._task, total=None, description=what)
        if not self._console.is_terminal:
            self.say(f"{what} ...")

    @contextmanager
    def others(self) -> Iterator[None]:
        """While somebody else shows progress, such as a fetch, there is no line of ours."""
        self._bar.stop()
        try:
            yield
        finally:
            self._bar.start()

    def begin(self, part: ScriptPart, found: bool) -> None:
        """A part begins."""
        self._part += 1
        self._begun = time.monotonic()
        self.say(f"{self._part}. {part.about}", "bold", indent="")
        if found:
            self.say("Its run is there already, finished, and is not trained again.")

    @contextmanager
    def training(self, plan: Plan) -> Iterator[Watch]:
        """The rounds of a run."""
        e = plan.experiment
        with self._counting(f"training {e.algorithm}, {e.model}", e.rounds) as done:

            def heard(t: int, metrics: Metrics | None) -> None:
                done(t)

            yield heard
        self._told("trained", f"{e.algorithm} with {e.model}, {e.rounds} rounds")

    @contextmanager
    def attacking(self, images: int) -> Iterator[ShareWatch]:
        """The steps of an attack."""
        worked = False
        with self._counting(f"rebuilding {images} images", 100) as done:

            def heard(share: float) -> None:
                nonlocal worked
                worked = True
                done(int(100 * share))

            yield heard
        verb = "attacked" if worked else "attacked before"
        self._told(verb, f"{images} images from single messages")

    @contextmanager
    def auditing(self, what: str, count: int) -> Iterator[CountWatch]:
        """The rounds of an audit."""
        with self._counting(f"auditing, {what}", count) as done:
            yield done
        self._told("audited", f"{count} {what}")

    def end(self, part: DemoPart) -> None:
        """A part is told."""
        from dpdl.pages.attack_section import seen, similarity

        row = part.attack
        self.say(
            f"Accuracy {part.accuracy:.1%}; the attacker rebuilt {seen(row)} "
            f"(SSIM {similarity(row)}).",
            "cyan",
        )

    @contextmanager
    def _counting(self, what: str, total: int) -> Iterator[CountWatch]:
        self.doing(what)
        self._begun = time.monotonic()
        self._bar.update(self._task, total=total, completed=0)
        yield lambda done: self._bar.update(self._task, completed=done)

    def _told(self, verb: str, what: str) -> None:
        self.say(f"{verb}: {what}, {time.monotonic() - self._begun:.1f} s")


def show(facts: DemoFacts) -> None:
    """The table, or a list where it does not fit; then what it means, and where the page is."""
    from dpdl.pages.demo_section import limits, meaning

    console = Console()
    title = f"{facts.dataset}, {facts.agents} agents, {facts.graph} graph"
    if console.width >= WIDE:
        console.print(_table(facts, title))
    else:
        _list(console, facts, title)
    console.print()
    for sentence in meaning(facts):
        _item(console, sentence)
    _item(console, limits(facts)[1])
    for note in facts.notes:
        _item(console, note)
    for name, path in (("Picture", facts.picture), ("Page", facts.page)):
        if path:
            console.print(f"{name}: {escape(path)}", highlight=False, soft_wrap=True)


HEADS = (
    "accuracy",
    "epsilon\nclaimed",
    "proven:\nall links",
    "neigh-\nbour",
    "final\nmodel",
)


def _table(facts: DemoFacts, title: str) -> Table:
    from dpdl.pages.demo_section import claimed_by, proven

    table = Table(
        title=title,
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        show_edge=False,
    )
    table.add_column("protection")
    for head in HEADS:
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("the attacker\nrebuilt", no_wrap=True)
    for part in facts.parts:
        table.add_row(
            part.title,
            f"{part.accuracy:.1%}",
            claimed_by(part).replace(", ", "\n"),
            *proven(part),
            rebuilt(part),
        )
    return table


def rebuilt(part: DemoPart) -> str:
    """A word and a number."""
    from dpdl.pages.attack_section import seen, similarity

    return f"{seen(part.attack)}\nSSIM {similarity(part.attack)}"


def _list(console: Console, facts: DemoFacts, title: str) -> None:
    from dpdl.pages.demo_section import HEAD, cells

    console.print(escape(title), style="bold", highlight=False)
    for part in facts.parts:
        name, *values = cells(part)
        console.print(f"\n{escape(name)}", style="bold", highlight=False)
        for head, value in zip(HEAD[1:], values, strict=True):
            console.print(f"  {head}: {escape(value)}", highlight=False)


def _item(console: Console, sentence: str) -> None:
    """A paragraph with a dash."""
    _write(console, sentence, "- ", "  ")


def _write(
    console: Console, text: str, first: str, others: str, style: str = ""
) -> None:
    """A paragraph in lines that fit, with whole words."""
    lines = textwrap.wrap(
        text,
        console.width - 1,
        initial_indent=first,
        subsequent_indent=others,
        break_long_words=False,
        break_on_hyphens=False,
    )
    for line in lines:
        console.print(escape(line), style=style, highlight=False, soft_wrap=True)
