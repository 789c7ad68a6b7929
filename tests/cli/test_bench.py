"""`dpdl bench` prints what it should; how fast anything is, no test asserts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dpdl.native import library
from tests.commands import dpdl


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_gradients_are_reported_with_ratios_and_a_history(monkeypatch, capsys) -> None:
    words = [
        "--batch",
        "8",
        "--pairs",
        "2",
        "--repeats",
        "1",
        "--save",
        "h.jsonl",
        "--plot",
        "p.png",
        "--json",
    ]
    code, out, _ = dpdl(monkeypatch, capsys, "bench", "gradients", *words)
    facts = json.loads(out)
    us = facts["us_per_sample"]
    assert code == 0
    assert set(us) == {"fused", "plain", "torch_func", "opacus", "plain_backward"}
    if library() is not None:
        assert facts["ratio_opacus"] == pytest.approx(us["opacus"] / us["fused"])
        assert facts["peak_share"] > 0
    line = json.loads(Path("h.jsonl").read_text())
    assert line["bench"] == "gradients" and line["us_per_sample"] == us
    assert Path("p.png").read_bytes().startswith(b"\x89PNG")


def test_noise_is_reported_with_ratios_and_a_history(monkeypatch, capsys) -> None:
    words = ["--entries", "1000", "--repeats", "1", "--save", "h.jsonl"]
    code, out, _ = dpdl(monkeypatch, capsys, "bench", "noise", *words, "--json")
    facts = json.loads(out)
    ns = facts["ns_per_number"]
    assert code == 0
    assert set(ns) == {"secure", "secure_float64", "reproducible", "copy"}
    assert facts["ratio_reproducible"] == pytest.approx(
        ns["secure"] / ns["reproducible"]
    )
    assert facts["ratio_copy"]["secure"] == pytest.approx(ns["secure"] / ns["copy"])
    line = json.loads(Path("h.jsonl").read_text())
    assert line["bench"] == "noise" and line["ns_per_number"] == ns
    code, out, _ = dpdl(monkeypatch, capsys, "bench", "noise", *words)
    assert code == 0 and "times a copy" in out


def test_rounds_of_many_cases_are_drawn(monkeypatch, capsys) -> None:
    words = [
        "--algorithms",
        "dpdl,dp-dpsgd",
        "--graphs",
        "ring",
        "--agents",
        "3",
        "--batch",
        "2",
        "--repeats",
        "1",
    ]
    code, out, _ = dpdl(
        monkeypatch, capsys, "bench", "rounds", *words, "--plot", "p.png", "--json"
    )
    rows = json.loads(out)["rows"]
    assert code == 0
    assert [(row["algorithm"], row["agents"]) for row in rows] == [
        ("dpdl", 3),
        ("dp-dpsgd", 3),
    ]
    promised = {"graph", "agents", "seconds_per_round", "share", "peak_memory_mb"}
    assert promised <= set(rows[0])
    parts = ["gradients", "noise", "exchange", "other", "secrets"]
    assert list(rows[0]["share"]) == parts
    assert all(row["evaluation_seconds_per_agent"] > 0 for row in rows)
    assert Path("p.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["gradients", "--repeats", "0"], "at least 1"),
        (["noise", "--entries", "0"], "at least 1"),
        (["rounds", "--agents", "ten"], "whole numbers"),
        (["rounds", "--algorithms", "dpdll"], "dpdl"),
        (["rounds", "--model", "resnet"], "lenet"),
        (["against", "nowhere"], "no checkout of dpdl"),
        (["against", ".", "--benches", "noise"], "gradients, rounds"),
        (["against", ".", "--inner", "0"], "inner must be"),
    ],
)
def test_wrong_input_is_refused(
    monkeypatch, capsys, words: list[str], hint: str
) -> None:
    code, _, err = dpdl(monkeypatch, capsys, "bench", *words)
    assert code == 2 and hint in err


# ------------------------------------------------------------------ two checkouts
PROGRAM = """
import json
way = {way}
speeds = dict(us_per_sample=way, by_way=dict(), multiply_adds=1, batch=1, pairs=1)
speeds |= dict.fromkeys(["ratio_opacus", "ratio_plain_backward", "ratio_torch_func"])
print(json.dumps(speeds | dict(peak_share=0.5, peak_gflops=1.0, repeats=1, cores=1)))
"""


def checkout(name: str, us: float) -> str:
    """A folder with a dpdl that answers `bench gradients` with so many microseconds."""
    package = Path(name) / "src" / "dpdl"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "__main__.py").write_text(PROGRAM.format(way={"fused": us}))
    return name


def test_two_checkouts_are_compared(monkeypatch, capsys) -> None:
    old, new = checkout("before", 30.0), checkout("after", 20.0)
    words = ["against", old, "--new", new, "--benches", "gradients", "--repeats", "2"]
    code, out, err = dpdl(monkeypatch, capsys, "bench", *words, "--json")
    facts = json.loads(out)
    assert code == 0 and facts["repeats"] == 2
    (row,) = facts["rows"]
    assert (row["bench"], row["what"]) == ("gradients", "fused")
    assert (row["old"], row["new"], row["ratio"]) == (30.0, 20.0, 1.5)
    assert err.splitlines() == [
        "1 of 2: old, gradients ...",
        "1 of 2: new, gradients ...",
        "2 of 2: new, gradients ...",
        "2 of 2: old, gradients ...",
    ]
    code, out, _ = dpdl(monkeypatch, capsys, "bench", *words, "--save", "h.jsonl")
    assert code == 0 and "old / new" in out and "1.50" in out
    assert json.loads(Path("h.jsonl").read_text())["bench"] == "against"
