from __future__ import annotations

import copy
import json
import pickle
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from dpdl.algorithms import DPDL, DPSGD, AsyncDPSGD, Decor, make, name_of
from dpdl.errors import InputError
from dpdl.experiment.experiment import Experiment, from_mapping, load
from dpdl.options import option


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
        ({"graph": object()}, r"dpdl.train\(experiment, graph=...\)"),
        ({"dataset": object()}, r"dpdl.train\(experiment, data=...\)"),
        ({"epsillon": 1.0}, "Did you mean 'epsilon'"),
    ],
)
def test_a_wrong_value_is_refused_with_the_option_the_value_and_what_is_allowed(
    change, words: str
) -> None:
    with pytest.raises(InputError, match=words):
        from_mapping(change)


def test_whole_numbers_stand_for_numbers() -> None:
    assert Experiment(epsilon=1).epsilon == 1.0


def test_resolving_fills_in_what_depends_on_data_and_graph() -> None:
    mnist, ring = (
        Experiment(graph="complete").resolved(),
        Experiment(graph="ring").resolved(),
    )
    assert (mnist.model, mnist.batch, mnist.clip, mnist.alpha) == (
        "lenet",
        216,
        2.0,
        1.5,
    )
    assert ring.alpha == 2.0
    assert Experiment(dataset="digits", batch=7).resolved().batch == 7
    left = [name for name, value in mnist.as_dict().items() if value is None]
    assert left == ["records", "sigma", "budget"]
    assert mnist.resolved() == mnist


def test_command_line_wins_over_file_wins_over_preset(tmp_path: Path) -> None:
    file = tmp_path / "e.toml"
    file.write_text('preset = "as-published"\nrounds = 7\nlr = 0.5\n')
    e = load(file, None, {"lr": 0.25})
    assert (e.rounds, e.lr, e.clip_unit) == (7, 0.25, "chunks")
    assert load(None, "as-published", {}).rounds == 1000


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"rounds = ", "not valid TOML"),
        (b"\xff\xfe", "not a text file"),
        (None, "No such file"),
    ],
)
def test_a_bad_file_is_refused_in_one_sentence(
    tmp_path: Path, content: bytes | None, words: str
) -> None:
    file = tmp_path / "e.toml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(InputError, match=words):
        load(file, None, {})


# ------------------------------------------------------------------ options of algorithms
def test_options_of_the_algorithm_may_be_given_flat_or_together() -> None:
    flat = Experiment(algorithm="decor", correlation=2, lr=0.3)
    assert flat == Experiment(
        algorithm="decor", options={"lr": 0.3, "correlation": 2.0}
    )
    assert flat.options == {"lr": 0.3, "correlation": 2.0}
    assert (flat.correlation, flat.lr, flat.momentum) == (2.0, 0.3, None)
    assert replace(flat, lr=0.4).options == {"lr": 0.4, "correlation": 2.0}
    assert hash(flat) == hash(replace(flat))
    assert pickle.loads(pickle.dumps(flat)) == flat
    assert copy.deepcopy(flat) == flat
    with pytest.raises(AttributeError, match="alpha"):
        _ = flat.alpha
    with pytest.raises(TypeError):
        flat.options["lr"] = 1.0


def test_a_given_mapping_is_copied() -> None:
    given = {"lr": 0.3}
    e = Experiment(options=given)
    given["lr"] = 5.0
    assert e.lr == 0.3


def test_resolving_sets_every_option_of_the_algorithm_and_no_other() -> None:
    e = Experiment(algorithm="decor", dataset="digits", lr=0.3).resolved()
    assert e.options == {
        "lr": 0.3,
        "lr_schedule": "steps",
        "lr_decay": 1.0,
        "lr_decay_every": 30,
        "weight_decay": 0.0,
        "momentum": 0.0,
        "correlation": 3.0,
    }
    assert e.as_dict().items() >= e.options.items()
    assert from_mapping(e.as_dict()) == e


@pytest.mark.parametrize(
    ("algorithm", "setting", "lr"),
    [
        ("dpdl", {}, 0.2),
        ("dpdl", {"graph": "complete"}, 0.05),
        ("dpdl", {"noise": "theorem1"}, 0.05),
        ("dpdl", {"dataset": "cifar10"}, 0.03),
        ("dpdl", {"dataset": "digits"}, 0.1),
        ("dpdl-sound", {"dataset": "fashion-mnist"}, 0.25),
        ("dp-dpsgd", {"graph": "complete"}, 1.5),
        ("d-psgd", {}, 0.05),
        ("muffliato", {}, 1.3),
        ("dp-netfleet", {}, 0.5),
        ("dp-cga", {}, 0.75),
        ("decor", {}, 0.05),
    ],
)
def test_step_sizes_are_by_data_set_and_algorithm(algorithm, setting, lr) -> None:
    assert Experiment(algorithm=algorithm, **setting).resolved().lr == lr


@dataclass(frozen=True)
class Steep(DPSGD):
    """A class with a default of its own."""

    lr: float = option(0.5, "a step size of its own")


def test_a_class_that_says_its_own_default_keeps_it() -> None:
    steep = name_of(Steep)
    assert Experiment(algorithm=steep, dataset="mnist").resolved().lr == 0.5


@dataclass(frozen=True)
class Bare:
    """A class whose fields have no defaults."""

    lr: float
    power: float
    disclosure = DPSGD.disclosure
    init, round, releases = DPSGD.init, DPSGD.round, DPSGD.releases


def test_an_option_without_a_default_must_be_given() -> None:
    bare = name_of(Bare)
    with pytest.raises(InputError, match="power must be given"):
        Experiment(algorithm=bare).resolved()
    e = Experiment(algorithm=bare, dataset="cifar10", power=2).resolved()
    assert e.options == {"lr": 0.03, "power": 2.0}


def test_an_object_is_taken_exactly_as_it_is() -> None:
    e = Experiment(algorithm=DPDL(momentum=0.5))
    assert e.algorithm == "dpdl"
    assert (e.resolved().lr, e.resolved().alpha, e.resolved().momentum) == (
        0.1,
        1.5,
        0.5,
    )
    assert Experiment(algorithm=DPSGD()).algorithm == "dp-dpsgd"
    assert replace(Experiment(alpha=3.0), algorithm=Decor()).options["correlation"] == 3
    assert make("decor", Experiment(algorithm=Decor(0.3)).as_dict()) == Decor(
        0.3, rounds=200
    )


@dataclass(frozen=True)
class Local(DPSGD):
    """A class without a name."""

    power: float = 2.0
    table: tuple[int, ...] = ()


def test_a_class_without_a_name_is_remembered() -> None:
    e = Experiment(algorithm=Local(power=3.0))
    assert e.algorithm == f"{__name__}:Local"
    assert e.resolved().options["power"] == 3.0
    assert make(e.algorithm, e.as_dict()) == Local(power=3.0, rounds=200)

    @dataclass(frozen=True)
    class Inner(DPSGD):
        depth: int = 1

    inner = Experiment(algorithm=Inner(depth=2))
    assert make(inner.algorithm, inner.as_dict()) == Inner(depth=2, rounds=200)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"algorithm": Decor(), "lr": 0.2}, "Decor has all its options itself"),
        ({"algorithm": Decor(), "options": {"lr": 0.2}}, "leave lr out"),
        ({"algorithm": AsyncDPSGD(seed=3)}, "seed of AsyncDPSGD is set from"),
        ({"algorithm": Local(table=(1,))}, "table of Local cannot be an option"),
        ({"algorithm": 3}, "a name or an algorithm, not a int"),
        ({"algorithm": "dp-dpsgd", "alpha": 1.0}, "alpha is not an option of dp-dpsgd"),
        ({"noise_split": "calibrated"}, "noise_split is not an option of dpdl"),
        ({"algorithm": "decor", "validation": 5}, "not an option of decor"),
        ({"options": {"alfa": 1.0}}, "Did you mean 'alpha"),
        ({"options": {"rounds": 3}}, "rounds is not an option of dpdl"),
        ({"algorithm": "decor", "correlation": -1.0}, "correlation must be a finite"),
        ({"cosine": "vektor"}, "Did you mean 'vector'"),
    ],
)
def test_options_that_do_not_fit_are_refused(given, words: str) -> None:
    with pytest.raises(InputError, match=words):
        Experiment(**given)


def test_the_seed_of_an_object_may_be_the_experiments() -> None:
    e = Experiment(algorithm=AsyncDPSGD(seed=3), seed=3)
    assert make(e.algorithm, e.as_dict()) == AsyncDPSGD(seed=3, rounds=200)
    e = Experiment(algorithm=AsyncDPSGD(), seed=4)
    assert make(e.algorithm, e.as_dict()).seed == 4


# ------------------------------------------------------------------ JSON
@pytest.mark.parametrize(
    "e",
    [
        Experiment(),
        Experiment(algorithm="decor", correlation=2, budget="3:1e-6"),
        Experiment(dataset="digits").resolved(),
    ],
    ids=["defaults", "some", "resolved"],
)
def test_an_experiment_is_written_and_read_as_json(e: Experiment) -> None:
    text = json.dumps(e.to_json())
    assert Experiment.from_json(json.loads(text)) == e
    assert e.to_json() == e.as_dict()


@pytest.mark.parametrize("content", [[], "x", None, 3])
def test_json_that_is_no_experiment_is_refused(content) -> None:
    with pytest.raises(InputError, match=r"^run/experiment must be an object"):
        Experiment.from_json(content, "run/experiment")


# ------------------------------------------------------------------ a table in a file
def written(tmp_path: Path, content: str) -> Path:
    file = tmp_path / "e.toml"
    file.write_text(content, "utf-8")
    return file


def test_the_options_of_an_algorithm_may_be_in_a_table(tmp_path: Path) -> None:
    file = written(
        tmp_path, 'rounds = 7\n[algorithm]\nname = "decor"\ncorrelation = 2\nlr = 0.2\n'
    )
    e = load(file, None, {"lr": 0.4})
    assert e == Experiment(algorithm="decor", rounds=7, correlation=2.0, lr=0.4)
    with pytest.raises(InputError, match="correlation is not an option of dpdl"):
        load(file, None, {"algorithm": "dpdl"})


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('lr = 1\n[algorithm]\nname = "decor"\nlr = 2\n', "lr is given twice"),
        ("[algorithm]\ncorrelation = 2\n", "needs the name of an algorithm"),
        ("[algorithm]\nname = 3\n", "needs the name of an algorithm"),
        ('[algorithm]\nname = "decor"\nrounds = 3\n', "above the table"),
        ('[algorithm]\nname = "decr"\n', "Did you mean 'decor'"),
        ('[algorithm]\nname = "decor"\ncorelation = 2\n', "Did you mean 'correlation'"),
        ('[algorithm]\nname = "decor"\ncorrelation = "3"\n', "must be a number"),
        ("[graph]\nname = 3\n", "graph must be a text"),
    ],
)
def test_a_wrong_table_is_refused_in_one_sentence(tmp_path, content, words) -> None:
    with pytest.raises(InputError, match=words):
        load(written(tmp_path, content), None, {})
