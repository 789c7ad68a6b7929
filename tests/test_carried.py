"""What a wheel carries is found there, and in a checkout beside the sources."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpdl.carried import carried, experiment_file
from dpdl.errors import InputError
from dpdl.experiment.experiment import load

CHECKOUT = Path(__file__).parents[1]


@pytest.fixture
def wheel(tmp_path: Path) -> tuple[Path, Path]:
    """The places of a wheel that has one experiment, and of a checkout that is not there."""
    (tmp_path / "files" / "experiments").mkdir(parents=True)
    (tmp_path / "files" / "experiments" / "first.toml").write_text("agents = 4\n")
    return tmp_path / "files", tmp_path / "nothing"


def test_a_checkout_has_results_and_experiments() -> None:
    assert carried("results") == CHECKOUT / "results"
    assert carried("experiments") == CHECKOUT / "experiments"
    assert carried("no-such-folder") is None


def test_a_wheel_is_looked_into_first(wheel) -> None:
    assert carried("experiments", wheel) == wheel[0] / "experiments"
    assert carried("results", wheel) is None


def test_an_experiment_is_found_by_its_name(wheel, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    first = wheel[0] / "experiments" / "first.toml"
    assert experiment_file(Path("first"), wheel) == first
    with pytest.raises(
        InputError, match=r"Unknown experiment 'frist'\. Did you mean 'first'"
    ):
        experiment_file(Path("frist"), wheel)


def test_a_file_is_taken_as_it_is(wheel, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    for given in ("first.toml", "./folder/first", "nowhere.toml"):
        assert experiment_file(Path(given), wheel) == Path(given)
    Path("first").write_text("agents = 5\n")
    assert experiment_file(Path("first"), wheel) == Path("first")


def test_the_quick_start_can_be_loaded_by_its_name() -> None:
    assert load(Path("quickstart-digits"), None, {}).dataset == "digits"
    assert load(Path("quickstart"), None, {"agents": 4}).agents == 4
