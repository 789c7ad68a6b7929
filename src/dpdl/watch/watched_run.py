"""One run as a page sees it: what its files say now, each byte of them read once."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeVar, final

from dpdl.errors import DpdlError, InputError
from dpdl.folder.ledger_cost import graph_of
from dpdl.folder.metrics import Metrics
from dpdl.folder.run_facts import RunFacts
from dpdl.folder.run_folder import RunFolder
from dpdl.folder.run_graph import named_graph
from dpdl.folder.scored import in_percent, label_of
from dpdl.folder.summary import Summary
from dpdl.foreign import parse_json
from dpdl.graph import Graph
from dpdl.pages.coverage import file_name, tested_in_private
from dpdl.pages.lines import look_of
from dpdl.records import Json, JsonObject, Record
from dpdl.watch.charges import Charges
from dpdl.watch.columns import Table, covered
from dpdl.watch.drawing import drawing
from dpdl.watch.lines import GrowingLines, content, line_at
from dpdl.watch.spending import Spending

R = TypeVar("R", bound=Record)

QUIET = 20.0
"""Seconds without a change after which a run is not called running any more, unless its rounds take
long."""


@final
class WatchedRun:
    """Follows the files of one run folder and never writes there."""

    def __init__(self, number: int, path: Path) -> None:
        self.number = number
        self.folder = RunFolder(path)
        self._facts: RunFacts | None = None
        self.summary: Summary | None = None
        self.spending: Spending | None = None
        self._damage: dict[Path, str] = {}  # why something is not shown
        self.table = Table()
        self._lines = GrowingLines(self.folder.metrics_path)
        self._charges = Charges(self.folder.ledger_path)
        self._starts: list[int] = []  # where in the file each evaluated round begins
        self._generation = 0
        self._seen: dict[Path, tuple[int, int]] = {}
        self._drawing: JsonObject | None = None

    # ------------------------------------------------------------------ reading
    def refresh(self) -> None:
        """Read what is new."""
        if self._changed(self.folder.experiment_path):
            self._facts = self._record(RunFacts, self.folder.experiment_path)
            self._drawing = None
        if self._changed(self.folder.summary_path):
            self.summary = self._record(Summary, self.folder.summary_path)
        if self._charges.refresh():
            self._price()
        if self.spending:
            self.spending.charge(self._charges.charged, self.summary is not None)
        self._measure()

    @property
    def wrong(self) -> str:
        """Why something is not shown, as long as the file is as it is."""
        return next(iter(self._damage.values()), self._charges.wrong)

    def _changed(self, path: Path) -> bool:
        """Whether a file that is replaced as a whole is another one than last time."""
        try:
            about = path.lstat()
            now = (about.st_ino, about.st_mtime_ns)
        except OSError:
            now = (0, 0)
        before = self._seen.get(path)
        self._seen[path] = now
        return now != before

    def _record(self, kind: type[R], path: Path) -> R | None:
        text = content(path)
        self._damage.pop(path, None)
        if text is None:
            return None
        try:
            return kind.from_json(parse_json(text))
        except (InputError, ValueError) as failure:
            self._damaged(path, failure)
            return None

    def _damaged(self, path: Path, failure: Exception) -> None:
        self._damage[path] = f"{path.name} is damaged: {str(failure).rstrip('.')}."

    def _price(self) -> None:
        header, planned = self._charges.header, self._charges.planned
        if header is None or planned is None or self._charges.wrong:
            self.spending = None  # what is spent is not known
            return
        centres = self._charges.centres
        if self.spending is None or not self.spending.fits(header, planned, centres):
            self.spending = Spending(header, planned, self.settings, centres)

    def _measure(self) -> None:
        new = self._lines.new()
        if self._lines.generation != self._generation:
            self._generation = self._lines.generation
            self.table, self._starts = Table(), []
            self._damage.pop(self.folder.metrics_path, None)
        for line in new:
            try:
                self.table.add(Metrics.from_json(parse_json(line.text)))
            except (InputError, ValueError) as failure:
                self._damaged(self.folder.metrics_path, failure)
                continue
            self._starts.append(line.start)

    # ------------------------------------------------------------------ saying
    @property
    def bytes_read(self) -> int:
        """Of the two files that grow."""
        return self._lines.bytes_read + self._charges.lines.bytes_read

    @property
    def settings(self) -> Mapping[str, Json]:
        """The options in `experiment.json`."""
        return self._facts.experiment if self._facts else {}

    @property
    def closed(self) -> bool:
        """Whether models are tested on private records."""
        return tested_in_private(self.settings)

    def to_json(self, public: bool, generation: int, have: int) -> JsonObject:
        """All that a page shows, without the `have` rounds that it has of a generation."""
        cover = covered(self.closed)
        known = have if generation == self._generation else 0
        wanted = {name: it or not public for name, it in cover.items()}
        agents = self._agents(self.table.last) if wanted["score"] else None
        return {
            "id": self.number,
            "generation": self._generation,
            "name": f"run {self.number}" if public else self.folder.path.name,
            "title": self.title,
            "algorithm": self._setting("algorithm"),
            "look": look_of(self._setting("algorithm")).plain(),
            "simulated": self.settings.get("randomness") != "secure",
            "known": known,
            "rounds": len(self.table),
            "columns": self.table.since(known, wanted),
            "covered": dict(cover),
            "score": self._score(),
            "agents": agents,
            "epsilon": self.spending.to_json() if self.spending else None,
            "graph": self._drawing_key,
            "wrong": self.wrong if not public else "",
            "damaged": bool(self.wrong),
            **self._progress(public),
        }

    @property
    def title(self) -> str:
        """What is trained on what, by whom."""
        data, graph = (file_name(self._setting(name)) for name in ("dataset", "graph"))
        header = self._charges.header
        agents = len(header.records) if header else self._setting("agents")
        return f"{self._setting('algorithm')} on {data}, {graph} of {agents} agents"

    def _setting(self, name: str) -> str:
        return str(self.settings.get(name, "?"))

    def _score(self) -> JsonObject:
        name = self.table.last.score.name if self.table.last else "accuracy"
        return {"label": f"test {label_of(name)}", "percent": in_percent(name)}

    def _agents(self, metrics: Metrics | None) -> Json:
        agents = metrics.score.agents if metrics else None
        return None if agents is None else list(agents)

    def _progress(self, public: bool) -> JsonObject:
        last = self.table.last
        finished = self.summary is not None
        total = self.settings.get("rounds")
        # The ledger has a round before it leaves: the last one may be under way.
        begun = self._charges.last
        evaluated = last.round if last else 0
        done = evaluated if finished else max(evaluated, begun - 1)
        each = last.seconds / last.round if last else None
        quiet = self._quiet()
        alive = quiet is not None and quiet < max(QUIET, 5 * (each or 0))
        left = None
        if each is not None and isinstance(total, int) and not finished:
            left = each * max(0, total - done)
        return {
            "done": done,
            "total": total,
            "state": "finished" if finished else "running" if alive else "quiet",
            "quiet": quiet,
            "left": None if public else left,
        }

    def _quiet(self) -> float | None:
        """Seconds since one of the growing files changed."""
        times = []
        for path in (self.folder.metrics_path, self.folder.ledger_path):
            try:
                times.append(path.lstat().st_mtime)
            except OSError:
                continue
        return round(max(0.0, time.time() - max(times)), 1) if times else None

    # ------------------------------------------------------------------ asked for once
    @property
    def _drawing_key(self) -> str:
        """Another one where the graph may be another one."""
        header = "1" if self._charges.header else "0"
        return f"{self._seen.get(self.folder.experiment_path, (0, 0))[1]}-{header}"

    def drawing(self) -> JsonObject:
        """The graph; why not, if the folder does not say."""
        if self._drawing is None:
            try:
                self._drawing = drawing(self._graph())
            except DpdlError as failure:
                return {"wrong": str(failure)}
        return self._drawing

    def _graph(self) -> Graph:
        """As the options name it, or as the ledger holds it."""
        header, named = self._charges.header, None
        if self._facts:
            named = named_graph(self._facts)
        if named:
            return replace(named, name=file_name(named.name))
        if header is None or header.weights is None:
            raise InputError("The folder does not hold the graph of this run.")
        return replace(graph_of(header), name=file_name(self._setting("graph")))

    def agents_in(self, round: int) -> JsonObject | None:
        """The scores of all agents in an evaluated round: one line of a file is read."""
        rounds = self.table.columns["round"]
        if round not in rounds:
            return None
        text = line_at(self.folder.metrics_path, self._starts[rounds.index(round)])
        try:
            found = Metrics.from_json(parse_json(text or b""))
        except (InputError, ValueError):
            return None
        return {"round": found.round, "agents": self._agents(found)}
