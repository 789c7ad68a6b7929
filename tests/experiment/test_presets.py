"""Presets and defaults are ordinary values of options."""

from __future__ import annotations

import pytest

from dpdl.algorithms import NAMES
from dpdl.errors import InputError
from dpdl.experiment.experiment import Experiment, from_mapping, load
from dpdl.experiment.options import has, installed
from dpdl.experiment.presets import PRESETS, defaults_for
from dpdl.experiment.shared import SHARED
from dpdl.options import checked

RULES = ("accountant", "theorem1", "public-code", "none")


def test_presets_are_ordinary_options() -> None:
    for options in PRESETS.values():
        assert from_mapping(options).as_dict().items() >= options.items()


def test_an_unknown_preset_is_refused() -> None:
    with pytest.raises(InputError, match="Did you mean 'as-published'"):
        load(None, "as-publish", {})


@pytest.mark.parametrize("preset", ["3", "true", '["as-published"]'])
def test_a_preset_in_a_file_is_a_name(preset: str, tmp_path) -> None:
    file = tmp_path / "e.toml"
    file.write_text(f"preset = {preset}\n")
    with pytest.raises(InputError, match="Unknown preset"):
        load(file, None, {})


@pytest.mark.parametrize("algorithm", sorted(NAMES))
def test_a_preset_fits_every_algorithm(algorithm: str) -> None:
    """What only others have is left out, and what it has is set."""
    e = load(None, "as-published", {"algorithm": algorithm})
    for name, value in PRESETS["as-published"].items():
        if has(algorithm, name):
            assert e.as_dict()[name] == value


def test_the_preset_on_the_command_line_wins_over_that_of_the_file(tmp_path) -> None:
    file = tmp_path / "e.toml"
    file.write_text('preset = "no such preset"\n')
    assert load(file, "as-published", {}).rounds == 1000
    with pytest.raises(InputError, match="no such preset"):
        load(file, None, {})


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("graph", ["ring", "complete", "torus:2x5"])
@pytest.mark.parametrize("dataset", ["mnist", "cifar10", "digits", "own.npz"])
def test_defaults_are_values_that_options_allow(dataset, graph, rule) -> None:
    fields = {name: next(iter(having.values())) for name, having in installed().items()}
    for name, value in defaults_for(dataset, graph, rule).items():
        assert checked({**fields, **SHARED}[name], value) == value


def test_epsilon_is_larger_where_it_is_proven() -> None:
    def epsilon(dataset: str, rule: str) -> object:
        return defaults_for(dataset, "ring", rule)["epsilon"]

    assert epsilon("mnist", "accountant") == epsilon("cifar10", "accountant") == 8.0
    assert (epsilon("mnist", "theorem1"), epsilon("cifar10", "theorem1")) == (0.5, 4.0)


def test_a_ring_is_calibrated_more() -> None:
    assert defaults_for("mnist", "ring", "none")["alpha"] == 2.0
    assert defaults_for("mnist", "torus:2x5", "none")["alpha"] == 1.5


def test_two_experiments_do_not_share_what_they_change() -> None:
    first = defaults_for("mnist", "ring", "none")
    first["lr"] = 99.0
    assert defaults_for("mnist", "ring", "none")["lr"] == 0.05
    assert Experiment(dataset="mnist", noise="theorem1").resolved().lr == 0.05
