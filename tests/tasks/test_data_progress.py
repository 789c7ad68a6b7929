"""The progress of a fetch: on standard error, or nowhere."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
import rich.progress
from rich.console import Console

from dpdl.tasks.data import cache
from dpdl.tasks.data.progress import (
    DownloadBar,
    ShownProgress,
    SilentProgress,
    reporting,
)
from tests.tasks.downloads import Server, serve
from tests.tasks.mirrored import entry


def test_progress_goes_to_standard_error_only(
    server: Server, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    serve(server)
    cache.fetch_entry(
        entry(f"{server.url}/missing", f"{server.url}/mnist"), progress=True
    )
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("train-images-idx3-ubyte.gz") == 1


@pytest.fixture
def display() -> rich.progress.Progress:
    """Bars that are drawn into a text."""
    return rich.progress.Progress(console=Console(file=io.StringIO()))


def test_a_bar_counts_bytes_as_pooch_reports_them(
    display: rich.progress.Progress,
) -> None:
    bar = DownloadBar(display, "file.gz")
    [task] = display.tasks
    assert bar.total == 0
    assert task.total is None
    bar.total = 100
    bar.update(60)
    assert (bar.total, task.total, task.completed) == (100, 100, 60)
    bar.reset()
    assert task.completed == 0
    bar.close()
    assert task.finished


def test_a_bar_of_unknown_size_can_be_closed(display: rich.progress.Progress) -> None:
    bar = DownloadBar(display, "file.gz")
    bar.update(7)
    bar.close()
    assert display.tasks[0].finished


def test_what_a_failed_source_left_is_removed_and_what_is_done_stays(
    display: rich.progress.Progress,
) -> None:
    progress = ShownProgress(display)
    progress.bar("done").close()
    progress.bar("failed").update(5)
    progress.bar("next")
    assert [task.description for task in display.tasks] == ["done", "next"]
    with progress.waiting("npm pack"):
        assert [task.description for task in display.tasks] == ["done", "npm pack"]
        assert not display.tasks[1].finished
    assert display.tasks[1].finished


def test_silence_has_no_bar(capsys: pytest.CaptureFixture[str]) -> None:
    with reporting(shown=False) as progress:
        assert isinstance(progress, SilentProgress)
        assert progress.bar("file.gz") is False
        with progress.waiting("npm pack"):
            pass
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", "")


def test_only_downloads_show_a_size(capsys: pytest.CaptureFixture[str]) -> None:
    with reporting(shown=True) as progress:
        bar = progress.bar("file.gz")
        assert bar
        bar.total = 1000
        bar.update(1000)
        with progress.waiting("npm pack"):
            pass
        progress.bar("never finished")
    lines = capsys.readouterr().err.splitlines()
    assert ["kB" in line for line in lines if "file.gz" in line] == [True]
    assert ["kB" in line for line in lines if "npm pack" in line] == [False]
    assert not any("never finished" in line for line in lines)
