"""What a data set and its partition look like."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpdl.errors import InputError
from dpdl.experiment.experiment import Experiment
from dpdl.studies.describe import describe


def test_equal_parts_are_counted(tmp_path: Path) -> None:
    e = Experiment(dataset="digits", agents=4, partition="iid")
    title, facts = describe(e, tmp_path / "p.png")
    assert title == "digits, iid"
    assert (facts.records, facts.test_records, facts.classes) == (1437, 360, 10)
    assert facts.shape == (1, 8, 8)
    assert [sum(row) for row in facts.counts] == [359] * 4, "one record is left over"
    assert Path(facts.picture).stat().st_size > 5_000


def test_the_title_says_how_skewed_it_is(tmp_path: Path) -> None:
    e = Experiment(dataset="digits", agents=3, alpha_d=0.5)
    title, facts = describe(e, tmp_path / "p.png")
    assert title == "digits, dirichlet-class, alpha_d = 0.5"
    assert facts.partition == "dirichlet-class"
    assert sum(map(sum, facts.counts)) == facts.records


def test_a_picture_has_a_name_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    facts = describe(Experiment(dataset="digits", agents=3)).facts
    assert facts.picture == "runs/partition-digits-3.png"
    assert Path(facts.picture).exists()


def test_more_agents_than_can_be_served_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="at most"):
        describe(Experiment(dataset="digits", agents=5000), tmp_path / "p.png")
    assert list(tmp_path.iterdir()) == []
