"""`dpdl data`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.cli.stored import same, stored
from tests.commands import dpdl


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RANK", raising=False)


def test_data_describe_counts_every_record_once(monkeypatch, capsys) -> None:
    code, out, _ = dpdl(
        monkeypatch,
        capsys,
        "data",
        "describe",
        "--dataset",
        "digits",
        "--agents",
        "4",
        "--json",
    )
    facts = json.loads(out)
    assert code == 0
    assert np.sum(facts["counts"]) == facts["records"] == 1437
    assert Path(facts["picture"]).exists()
    assert (
        "#9"
        in dpdl(
            monkeypatch,
            capsys,
            "data",
            "describe",
            "--dataset",
            "digits",
            "--agents",
            "4",
        )[1]
    )


def test_data_list_and_fetch(monkeypatch, capsys) -> None:
    code, out, _ = dpdl(monkeypatch, capsys, "data", "list", "--json")
    assert code == 0
    assert json.loads(out)["datasets"]["digits"] is True
    assert dpdl(monkeypatch, capsys, "data", "fetch", "digits")[0] == 0


def test_json_is_as_it_was_before_there_were_records(monkeypatch, capsys) -> None:
    words = ["data", "describe", "--dataset", "digits", "--agents", "3"]
    code, out, _ = dpdl(monkeypatch, capsys, *words, "--json", "--out", "p.png")
    assert code == 0
    assert same(json.loads(out), stored("describe"))
    assert Path("p.png").stat().st_size > 5_000


def test_a_person_sees_who_holds_what(monkeypatch, capsys) -> None:
    words = ["data", "describe", "--dataset", "digits", "--agents", "3"]
    code, out, _ = dpdl(monkeypatch, capsys, *words)
    assert code == 0
    assert "digits, dirichlet-class, alpha_d = 0.25: records of every agent" in out
    assert "738" in out and "." in out, (
        "the total of an agent, and a class without records"
    )
    assert "picture: runs/partition-digits-3.png" in out


def test_the_list_says_how_to_get_what_is_missing(
    tmp_path: Path, monkeypatch, capsys
) -> None:
    monkeypatch.setenv("DPDL_DATA", str(tmp_path / "empty"))
    code, out, _ = dpdl(monkeypatch, capsys, "data", "list")
    assert code == 0
    assert "not fetched yet: dpdl data fetch mnist" in out
    assert "PATH.npz with x and y" in out
