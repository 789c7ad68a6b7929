"""What an experiment says about records at sites is checked before any of them is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dpdl.errors import InputError
from dpdl.experiment.experiment import Experiment, from_mapping, load
from dpdl.experiment.sites import parse_scaling, parse_shape

THREE = ["a.npz", "b.npz", "c.npz"]


def test_a_list_in_python_in_toml_and_on_the_command_line(tmp_path: Path) -> None:
    file = tmp_path / "e.toml"
    file.write_text('sites = ["a.npz", "b.npz", "c.npz"]\nshape = "30"\n')
    given = Experiment(sites=THREE, shape="30")  # type: ignore[arg-type]
    assert given.sites == ("a.npz", "b.npz", "c.npz")
    assert load(file, None, {}) == given
    assert load(None, None, {"sites": "a.npz, b.npz,c.npz", "shape": "30"}) == given


def test_there_are_as_many_agents_as_sites() -> None:
    e = from_mapping({"sites": THREE, "shape": "30"}).resolved()
    assert e.agents == 3
    assert e.dataset == "sites"
    assert e.model == "mlp"
    assert from_mapping({"sites": THREE}).resolved().dataset == "mnist"


def test_it_comes_back_from_its_values_and_is_not_there_where_it_is_not_set() -> None:
    e = from_mapping({"sites": THREE, "shape": "30", "predict": "2 classes"}).resolved()
    assert e.to_json()["sites"] == THREE
    assert Experiment.from_json(e.to_json()) == e
    later = {"sites", "shape", "scaling", "test", "predict", "loss", "score"}
    assert later.isdisjoint(Experiment().resolved().as_dict())


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"shape": "30"}, "shape is about records at sites"),
        ({"test": "t.npz"}, "test is about records at sites"),
        ({"scaling": "pixels"}, "scaling is about records at sites"),
        ({"sites": []}, "sites must name at least one file"),
        ({"sites": ["a.npz", ""]}, "none may be empty"),
        ({"sites": THREE, "partition": "iid"}, "leave out either partition or sites"),
        ({"sites": THREE, "agents": 4}, "for each of 4 agents, not 3"),
        ({"sites": THREE, "scaling": "pixels"}, "give shape as well"),
        ({"sites": 3}, "sites must be a list of texts, not 3"),
        ({"sites": ["a.npz", 3]}, "sites must be a list of texts"),
    ],
)
def test_what_contradicts_itself_is_refused(values: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        from_mapping(values).resolved()


@pytest.mark.parametrize(
    ("text", "shape"), [("30", (30,)), ("1,28,28", (1, 28, 28)), ("3, 2, 1", (3, 2, 1))]
)
def test_a_shape_is_features_or_a_picture(text: str, shape: tuple[int, ...]) -> None:
    assert parse_shape(text) == shape


@pytest.mark.parametrize(
    "text", ["", "0", "28,28", "1,28,0", "-3", "1.5", "x", "1,,2", "9" * 30]
)
def test_what_is_no_shape_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="shape must be a number of features"):
        parse_shape(text)


def test_scaling_is_a_mean_and_a_deviation() -> None:
    assert parse_scaling("pixels") == ((0.0,), (1.0,))
    assert parse_scaling("0.13/0.31") == ((0.13,), (0.31,))
    assert parse_scaling("0.1,0.2,0.3/1,2,3") == ((0.1, 0.2, 0.3), (1.0, 2.0, 3.0))


@pytest.mark.parametrize("text", ["", "1", "a/b", "1/", "/1", "1/2/3"])
def test_what_is_no_scaling_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="scaling must be 'pixels' or MEAN/STD"):
        parse_scaling(text)
