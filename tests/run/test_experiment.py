from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from dpdl.errors import InputError
from dpdl.run.experiment import Experiment, from_mapping, load
from dpdl.run.presets import PRESETS


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"epsilon": 0.0}, "epsilon must be a finite number above 0, not 0.0"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"epsilon": float("nan")}, "epsilon must be a finite number above 0, not nan"),
        ({"sigma": 0.0}, "sigma"),
        ({"sigma": float("inf")}, "sigma"),
        ({"delta": 1.0}, "delta must be at least 1e-30 and below 1"),
        ({"delta": 1e-31}, "delta must be at least 1e-30 and below 1"),
        ({"momentum": 1.0}, "momentum"),
        ({"agents": 0}, "agents must be a whole number of at least 1"),
        ({"agents": True}, "agents must be a whole number"),
        ({"rounds": 2.5}, "rounds must be a whole number, not 2.5"),
        ({"lr": "fast"}, "lr must be a number"),
        ({"alpha_d": 0.0}, "alpha_d"),
        ({"algorithm": "dpld"}, "Did you mean 'dpdl'"),
        ({"weights": "metropolys"}, "Did you mean 'metropolis'"),
        ({"partition": "dirichlet"}, "dirichlet-class"),
        ({"noise": "theorem2"}, "theorem1"),
        ({"threat": "neighbours:0"}, "neighbours:K with K a whole number"),
        ({"threat": "eavesdroper"}, "Did you mean 'eavesdropper'"),
        ({"relation": "replace"}, "replace-one"),
        ({"noise": "none", "sigma": 1.0}, "exclude each other"),
        ({"dtype": "float16"}, "float32"),
        ({"agents": None}, "agents must be given"),
        ({"epsillon": 1.0}, "Did you mean 'epsilon'"),
    ],
)
def test_a_wrong_value_is_refused_with_the_option_the_value_and_what_is_allowed(change, words: str) -> None:
    with pytest.raises(InputError, match=words):
        from_mapping(change)


def test_whole_numbers_stand_for_numbers() -> None:
    assert Experiment(epsilon=1).epsilon == 1.0


def test_resolving_fills_in_what_depends_on_data_and_graph() -> None:
    mnist, ring = Experiment(graph="complete").resolved(), Experiment(graph="ring").resolved()
    assert (mnist.model, mnist.batch, mnist.clip, mnist.alpha) == ("lenet", 216, 2.0, 1.5)
    assert ring.alpha == 2.0
    assert Experiment(dataset="digits", batch=7).resolved().batch == 7
    left = [f.name for f in fields(Experiment) if getattr(mnist, f.name) is None]
    assert left == ["records", "gossip_steps", "margin", "tracking", "sigma", "budget"]
    assert mnist.resolved() == mnist


def test_command_line_wins_over_file_wins_over_preset(tmp_path: Path) -> None:
    file = tmp_path / "e.toml"
    file.write_text('preset = "as-published"\nrounds = 7\nlr = 0.5\n')
    e = load(file, None, {"lr": 0.25})
    assert (e.rounds, e.lr, e.clip_unit) == (7, 0.25, "chunks")
    assert load(None, "as-published", {}).rounds == 1000


def test_presets_are_ordinary_options() -> None:
    names = {f.name for f in fields(Experiment)}
    for options in PRESETS.values():
        assert set(options) <= names
        assert from_mapping(options)


@pytest.mark.parametrize(
    ("content", "words"), [(b"rounds = ", "not valid TOML"), (b"\xff\xfe", "not a text file"), (None, "No such file")]
)
def test_a_bad_file_is_refused_in_one_sentence(tmp_path: Path, content: bytes | None, words: str) -> None:
    file = tmp_path / "e.toml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(InputError, match=words):
        load(file, None, {})


def test_an_unknown_preset_is_refused() -> None:
    with pytest.raises(InputError, match="Did you mean 'as-published'"):
        load(None, "as-publish", {})
