"""`dpdl privacy sigma` and `dpdl privacy epsilon`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.stored import same, stored
from tests.commands import dpdl


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RANK", raising=False)


COMPLETE = ["--graph", "complete", "--agents", "10", "--alpha", "1.5"]


PLAN = [*COMPLETE, "--records", "6000", "--batch", "216", "--rounds", "1000"]


def test_privacy_plans_noise_that_cancels_between_neighbours(
    monkeypatch, capsys
) -> None:
    words = [
        "privacy",
        "sigma",
        "--algorithm",
        "decor",
        "--agents",
        "10",
        "--epsilon",
        "1",
        "--rounds",
        "100",
        "--json",
    ]
    found = []
    for more in (
        ["--correlation", "0"],
        ["--correlation", "3", "--threat", "neighbours:2"],
    ):
        code, out, _ = dpdl(monkeypatch, capsys, *words, *more)
        assert code == 0
        found.append(json.loads(out)["sigma"])
    alone, shared = found
    assert shared["eavesdropper"] == pytest.approx(
        0.1768**0.5 * alone["eavesdropper"], rel=1e-3
    )
    assert shared["neighbour"] == pytest.approx(
        0.2841**0.5 * alone["neighbour"], rel=1e-3
    )
    assert shared["neighbours:2"] == pytest.approx(alone["eavesdropper"], rel=1e-3)


def test_privacy_plans_noise_and_budget_as_json(monkeypatch, capsys) -> None:
    words = ["privacy", "sigma", *PLAN, "--epsilon", "0.5", "--algorithm", "dpdl"]
    code, out, _ = dpdl(monkeypatch, capsys, *words, "--json", "--plot", "e.png")
    found = json.loads(out)
    assert code == 0
    assert found["sigma"]["theorem1"] == pytest.approx(2.89, abs=0.005)
    assert found["sigma"]["eavesdropper"] == pytest.approx(46.25, abs=0.05)
    assert found["sigma_eff"]["eavesdropper"] == pytest.approx(8.09, abs=0.01)
    assert any("un-noised self-gradient" in note for note in found["notes"])
    assert Path("e.png").stat().st_size > 5_000
    words = [
        "privacy",
        "epsilon",
        *PLAN,
        "--sigma",
        "25.57",
        "--algorithm",
        "dpdl-sound",
        "--threat",
        "neighbours:3",
    ]
    code, out, _ = dpdl(monkeypatch, capsys, *words, "--json")
    found = json.loads(out)
    assert code == 0
    assert set(found["epsilon"]) == {
        "theorem1",
        "theorem1_appendix",
        "eavesdropper",
        "neighbour",
        "final_model",
        "neighbours:3",
    }
    assert found["epsilon"]["neighbour"] == pytest.approx(0.5, rel=2e-3)
    assert "an eavesdropper on all links" in dpdl(monkeypatch, capsys, *words)[1]


THREE = ["--graph", "ring", "--agents", "3", "--batch", "8", "--rounds", "4"]
OF_RECORDS = ["--records", "600,700,800", "--sigma", "2", "--threat", "neighbours:2"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("sigma", ["sigma", "--records", "600", "--epsilon", "4"]),
        ("epsilon-sound", ["epsilon", *OF_RECORDS]),
        ("epsilon", ["epsilon", *OF_RECORDS]),
    ],
)
def test_json_is_as_it_was_before_there_were_records(
    monkeypatch, capsys, name: str, words: list[str]
) -> None:
    algorithm = "dpdl" if name == "epsilon" else "dpdl-sound"
    code, out, _ = dpdl(
        monkeypatch,
        capsys,
        "privacy",
        *words,
        *THREE,
        "--algorithm",
        algorithm,
        "--json",
    )
    assert code == 0
    assert same(json.loads(out), stored(name))


def test_a_person_sees_against_whom_and_what_to_know(monkeypatch, capsys) -> None:
    words = ["privacy", "sigma", *THREE, "--records", "600", "--epsilon", "4"]
    code, out, _ = dpdl(monkeypatch, capsys, *words, "--algorithm", "dp-dpsgd")
    assert code == 0
    assert "one curious neighbour" in out
    flat = " ".join(out.split())
    assert "Theorem 1 of the paper (a claim, not a guarantee) │ -" in flat
    assert "- Theorem 1 is not about this algorithm." in out


def test_where_no_noise_is_enough_there_is_no_picture(monkeypatch, capsys) -> None:
    words = ["privacy", "sigma", *THREE, "--records", "600", "--epsilon", "4"]
    words += ["--clip-unit", "chunks", "--plot", "e.png"]
    code, out, _ = dpdl(monkeypatch, capsys, *words, "--algorithm", "dpdl-sound")
    assert code == 0
    assert "unbounded" in out
    assert not Path("e.png").exists()
