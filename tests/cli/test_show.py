"""What a person sees of a run."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from dpdl.cli.show import counting, show_result
from dpdl.folder.summary import Timing
from dpdl.privacy.epsilon import UNBOUNDED, UNKNOWN, Epsilon
from dpdl.privacy.epsilons import Epsilons
from tests.commands import DIGITS, dpdl
from tests.folder.measured import metrics, scores, summary


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RANK", raising=False)


def test_the_result_table_shows_what_matters(monkeypatch, capsys) -> None:
    code, out, _ = dpdl(
        monkeypatch, capsys, "run", *DIGITS, "--rounds", "3", "--quiet", "--out", "here"
    )
    assert code == 0
    flat = " ".join(out.split())
    for words in (
        "test accuracy",
        "worst / best agent",
        "claimed by Theorem 1",
        "epsilon proven, eavesdropper",
        "is not a guarantee",
        "here",
    ):
        assert words in flat


def shown(capsys, result: SimpleNamespace) -> str:
    show_result(result, Path("run/training.png"))
    return " ".join(capsys.readouterr().out.split())


def result(**changes) -> SimpleNamespace:
    rounds = [metrics(1, 0.2, loss=2.5, clip_fraction=1.0), metrics(4, 0.25)]
    found = summary(**changes)
    return SimpleNamespace(summary=found, metrics=rounds, timing=Timing(4.0, 1.0))


def test_the_table_has_the_numbers_of_the_summary(capsys) -> None:
    flat = shown(capsys, result())
    for words in (
        "dpdl on digits, ring of 3 agents",
        "test accuracy, mean over agents │ 21.11%",
        "worst / best agent │ 21.11% / 21.11%",
        "training loss, round 1 / 4 │ 2.5 / -",
        "clipped gradients, last round │ -",
        "sent by all agents │ 1.4 MB",
        "epsilon claimed by Theorem 1 │ 0.3763",
        "epsilon proven, final model │ 62.93",
        "0.2 s, 25% of it evaluation",
        "Run folder: run Curves: run/training.png",
    ):
        assert words in flat


def test_what_is_unbounded_huge_or_not_claimed_is_shown_so(capsys) -> None:
    proven = {"eavesdropper": UNBOUNDED, "neighbours:2": Epsilon(123456.0)}
    flat = shown(capsys, result(epsilon=Epsilons(UNKNOWN, proven)))
    assert "epsilon proven, eavesdropper │ unbounded" in flat
    assert "epsilon proven, neighbours:2 │ 123,456" in flat
    assert "claimed" not in flat.partition("Privacy:")[0]


def test_an_error_is_shown_under_its_name(capsys) -> None:
    flat = shown(capsys, result(score=scores(0.5, "squared_error")))
    assert "test squared error, mean over agents │ 0.5" in flat
    assert "worst / best agent │ 0.4 / 0.6" in flat


def test_a_bar_counts_only_on_a_terminal(capsys) -> None:
    with counting("pictures", 3) as done:
        done(1)
        done(3)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("width", [42, 80])
def test_the_result_fits_a_narrow_terminal(capsys, monkeypatch, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    show_result(result(bytes_sent=123_456_789_012), Path("p.png"))
    table = capsys.readouterr().out.partition("Privacy:")[0]
    assert max(map(len, table.splitlines())) <= width
    for whole in ("21.11% / 21.11%", "123,456.8 MB", "0.3763", "62.93"):
        assert whole in table
    assert "…" not in table
