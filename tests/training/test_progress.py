"""How far a run is: one line that fits, in a terminal, in a notebook and in a log."""

from __future__ import annotations

import io
import re
from types import SimpleNamespace

import pytest
from rich.console import Console

from dpdl.experiment.experiment import Experiment
from dpdl.graph import build
from dpdl.training.progress import (
    BAR,
    NotebookLine,
    Pace,
    RunProgress,
    TerminalLine,
    clock_time,
    fitting,
    in_notebook,
    progress_of,
    watched,
)
from tests.folder.measured import metrics

PARTS = [
    ("round 1234/4000", 0),
    ("loss 0.3918", 2),
    ("accuracy 91.2%", 1),
    ("epsilon 2509", 3),
    ("12.5 rounds/s", 5),
    ("0:45 left", 0),
]


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RANK", raising=False)


def plan_of(rounds: int) -> SimpleNamespace:
    return SimpleNamespace(
        experiment=Experiment(dataset="digits", model="mlp", rounds=rounds),
        privacy=SimpleNamespace(records=(300, 730), sigma=1.25),
        source=SimpleNamespace(name="digits"),
        data=SimpleNamespace(name="digits"),
        task=SimpleNamespace(size=4810),
        graph=build("ring", 3),
    )


def test_a_log_has_a_headline_and_a_line_per_evaluated_round(capsys) -> None:
    with RunProgress(plan_of(20), hidden=False) as progress:
        progress(1, metrics(1, 0.5, loss=0.7))
        progress(2, None)
        progress(3, metrics(3, 0.6))
    lines = [" ".join(line.split()) for line in capsys.readouterr().err.splitlines()]
    text = " ".join(lines)
    assert "(300 to 730 records per agent, declared), mlp with 4,810 parameters" in text
    assert "round 1/20 loss 0.7 accuracy 50.0% epsilon 1.5 0.1 s" in lines
    assert "round 3/20 loss - accuracy 60.0% epsilon 1.5 0.3 s" in lines
    assert not any(line.startswith("round 2/20") for line in lines)


@pytest.mark.parametrize("rank", ["0", "1"])
def test_who_is_quiet_or_not_process_0_shows_nothing(
    capsys, monkeypatch, rank: str
) -> None:
    monkeypatch.setenv("RANK", rank)
    with RunProgress(plan_of(20), hidden=rank == "0") as progress:
        progress(1, metrics(1))
    assert capsys.readouterr().err == ""


# ------------------------------------------------------------------ what fits
@pytest.mark.parametrize(
    ("room", "left_out"),
    [
        (140, []),
        (80, ["12.5 rounds/s"]),
        (60, ["12.5 rounds/s", "epsilon 2509"]),
        (42, ["12.5 rounds/s", "epsilon 2509", "loss 0.3918"]),
        (30, ["12.5 rounds/s", "epsilon 2509", "loss 0.3918", "accuracy 91.2%"]),
    ],
)
def test_the_least_important_is_left_out_first(room: int, left_out: list[str]) -> None:
    texts, bar = fitting(PARTS, room)
    assert [text for text, _ in PARTS if text not in left_out] == texts
    used = sum(map(len, texts)) + 2 * (len(texts) - 1) + (bar + 1 if bar else 0)
    assert used <= room
    assert bar == 0 or BAR[0] <= bar <= BAR[1]


def test_round_and_time_left_always_stay() -> None:
    assert fitting(PARTS, 5) == (["round 1234/4000", "0:45 left"], 0)


@pytest.mark.parametrize("width", [42, 80, 120])
def test_a_drawn_line_is_whole_at_any_width(width: int) -> None:
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=width, legacy_windows=False)
    line = TerminalLine(console, 4000, "round 0/4000")
    line.start()
    line.show(1234, PARTS)
    line.stop()
    drawn = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", file.getvalue())
    last = drawn.replace("\r", "\n").split("\n")[-2]
    assert len(last.rstrip()) <= width
    texts, _ = fitting(PARTS, width)
    for text in texts:
        assert text in last
    assert "…" not in file.getvalue()


def test_time_is_shown_in_minutes_or_hours() -> None:
    assert clock_time(7.4) == "0:07"
    assert clock_time(605) == "10:05"
    assert clock_time(3600 * 12 + 61) == "12:01:01"


def test_the_pace_is_known_from_the_second_call_on() -> None:
    now = iter([10.0, 10.0, 12.0])
    pace = Pace(10, clock=lambda: next(now))
    assert pace(3) == (None, [])
    assert pace(4) == (None, []), "no time has passed"
    assert pace(7) == (2.0, [("0:02 left", 0)])


# ------------------------------------------------------------------ who looks on
def test_without_a_log_nothing_is_written_where_nobody_looks(capsys) -> None:
    with RunProgress(plan_of(20), hidden=False, log=False) as progress:
        progress(1, metrics(1))
    assert capsys.readouterr() == ("", "")


def test_a_person_looks_on_at_a_terminal_only() -> None:
    assert not in_notebook()
    assert watched(stream_is_terminal=True)
    assert not watched(stream_is_terminal=False)
    assert not watched(), "tests write to no terminal"


@pytest.mark.parametrize(
    ("asked", "lines"), [(None, 0), (False, 0), (True, 2)], ids=str
)
def test_who_asks_for_progress_gets_it_in_a_log_too(
    capsys, asked: bool | None, lines: int
) -> None:
    with progress_of(plan_of(20), asked) as progress:
        progress(1, metrics(1))
        progress(20, metrics(20))
    out, err = capsys.readouterr()
    assert out == ""
    assert sum(line.startswith("round ") for line in err.splitlines()) == lines


class _Cell:
    """A notebook's cell: what is displayed in it, and all that was before."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def __call__(self, content: object, *, raw: bool, display_id: bool) -> _Cell:
        assert raw and display_id
        self.update(content, raw=raw)
        return self

    def update(self, content: object, *, raw: bool) -> None:
        assert isinstance(content, dict)
        self.lines.append(content["text/plain"])


def test_a_notebook_has_one_line_that_is_replaced_now_and_then() -> None:
    now = iter([0.0, 0.1, 0.7, 0.8])
    cell = _Cell()
    line = NotebookLine(cell, clock=lambda: next(now))
    line.start()
    for t in (1, 2, 3):
        line.show(t, [(f"round {t}/4", 0), ("0:01 left", 0)], finished=False)
    line.show(4, [("round 4/4", 0)], finished=True)
    line.stop()
    assert cell.lines == ["round 1/4  0:01 left", "round 3/4  0:01 left", "round 4/4"]
