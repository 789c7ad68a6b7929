"""What a person sees of the story: nothing is torn, on wide and on narrow terminals."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from dpdl.cli.demo_show import DemoProgress, rebuilt, show
from dpdl.studies.demo.script import DIGITS, story_of
from tests.told import facts


def lines_of(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("width", [80, 78, 120])
def test_the_table_fits(width: int, capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    show(facts("runs/demo/rebuilt.png"))
    lines = lines_of(capsys)
    assert max(map(len, lines)) <= width
    heads = next(line for line in lines if "protection" in line)
    assert "accuracy" in heads
    rows = [line for line in lines if "91.2%" in line]
    assert [line.split()[0] for line in rows] == ["no", "paper's", "proven"]
    assert "2509" in rows[1]
    assert any("refuted" in line for line in lines)
    assert all("…" not in line for line in lines)


def test_a_narrow_terminal_gets_a_list_with_whole_words(capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "42")
    show(facts())
    lines = lines_of(capsys)
    assert max(map(len, lines)) <= 42
    assert "  epsilon claimed: 0.5, refuted" in lines
    text = " ".join(" ".join(lines).split())
    assert "proven: neighbour: 0.4999" in text


def test_notes_and_places_are_shown(capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    show(facts("runs/demo/rebuilt.png", ("On digits.",)))
    lines = lines_of(capsys)
    assert "- On digits." in lines
    assert lines[-2:] == [
        "Picture: runs/demo/rebuilt.png",
        "Page: runs/demo/report.html",
    ]


def test_a_word_and_a_number() -> None:
    assert rebuilt(facts().parts[0]) == "the records\nSSIM 0.91"


def progress_lines(hidden: bool, terminal: bool) -> str:
    out = io.StringIO()
    console = Console(file=out, force_terminal=terminal, width=60, color_system=None)
    with DemoProgress(hidden, console) as progress:
        progress.doing("loading torch")
        progress.begin(story_of(DIGITS).script.part[0], found=True)
        with progress.attacking(6) as share:
            share(0.5)
        progress.end(facts().parts[0])
    return out.getvalue()


def test_what_goes_on_is_said_where_nobody_looks_at_a_terminal() -> None:
    text = progress_lines(hidden=False, terminal=False)
    assert text.startswith("   loading torch ...\n1. DPDL without noise")
    assert "is not trained again" in " ".join(text.split())
    assert "attacked: 6 images" in text
    assert "the attacker rebuilt the records" in " ".join(text.split())


def test_on_a_terminal_one_line_moves_and_goes_away() -> None:
    text = progress_lines(hidden=False, terminal=True)
    assert "loading torch" in text
    assert "loading torch ..." not in text


def test_quiet_is_quiet() -> None:
    assert progress_lines(hidden=True, terminal=False) == ""
    assert progress_lines(hidden=True, terminal=True) == ""
