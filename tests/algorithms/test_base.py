"""What every algorithm has, and the answers that most of them give."""

from __future__ import annotations

import math
from dataclasses import FrozenInstanceError, dataclass, fields

import pytest
import torch

from dpdl.algorithms import DPSGD, NAMES, Algorithm, make, named
from dpdl.algorithms.base import (
    Info,
    Stepped,
    StepShown,
    batch_info,
    local_steps_option,
    momentum_option,
)
from dpdl.algorithms.disclosure import OwnGradients
from dpdl.errors import InputError
from dpdl.experiment.experiment import Experiment
from dpdl.graph import ring
from dpdl.net import Net
from dpdl.options import checked
from dpdl.planning.build import make_algorithm
from dpdl.privacy.clip import Clipped, PerSample
from dpdl.privacy.gradient import Answers
from dpdl.privacy.noise import Reproducible
from dpdl.tasks.task import Task
from dpdl.types import Visits
from tests.conftest import small_batch, small_module
from tests.mechanisms import private_gradient


@dataclass(frozen=True)
class Still(Stepped):
    """It learns nothing, and says no more than it must."""

    disclosure = OwnGradients()

    def init(self, x):
        return {"x": x}

    def round(self, state, batches, net, grad, t):
        return state, Info({})

    def releases(self, grad):
        return ()


# ------------------------------------------------------------------ steps
def test_steps_become_smaller_after_so_many_rounds() -> None:
    still = Still(0.4, lr_decay=0.5, lr_decay_every=3)
    assert [still.eta(t) for t in range(1, 8)] == [0.4] * 3 + [0.2] * 3 + [0.1]
    assert {Still(0.4).eta(t) for t in (1, 30, 31, 999)} == {0.4}


def test_a_schedule_over_all_rounds_ends_near_zero() -> None:
    def etas(schedule: str) -> list[float]:
        still = Still(0.4, lr_schedule=schedule, rounds=4)
        return [still.eta(t) for t in range(1, 5)]

    assert etas("linear") == pytest.approx([0.4, 0.3, 0.2, 0.1])
    half = 0.2 * 2**-0.5
    assert etas("cosine") == pytest.approx([0.4, 0.2 + half, 0.2, 0.2 - half])
    assert etas("constant") == etas("steps") == [0.4] * 4


def test_a_round_after_the_last_one_has_no_step_backwards() -> None:
    for schedule in ("linear", "cosine"):
        late = Still(0.4, lr_schedule=schedule, rounds=4)
        assert late.eta(5) == late.eta(9) == pytest.approx(0)


def test_a_schedule_over_all_rounds_needs_their_number() -> None:
    with pytest.raises(InputError, match="needs the number of rounds"):
        Still(0.4, lr_schedule="linear").eta(1)


def test_the_experiment_says_how_many_rounds_there_are() -> None:
    experiment = Experiment(algorithm="decor", rounds=7, lr=0.5, lr_schedule="linear")
    assert make_algorithm(experiment.resolved()).rounds == 7
    given = Experiment(algorithm=DPSGD(0.5, lr_schedule="linear"), rounds=7)
    assert make_algorithm(given.resolved()).eta(7) == pytest.approx(0.5 / 7)


def test_factors_beside_another_schedule_are_refused() -> None:
    with pytest.raises(InputError, match=r"lr_decay is for lr_schedule 'steps'"):
        Still(0.4, lr_schedule="cosine", lr_decay=0.5)
    with pytest.raises(InputError, match="Unknown lr_schedule 'liner'"):
        Still(0.4, lr_schedule="liner")


def test_a_schedule_is_nothing_that_theorem2_knows() -> None:
    assert not Still(0.4, lr_schedule="linear").steady
    (said,) = Still(0.4, lr_schedule="linear").beyond_theorem2
    assert "smaller over time" in said


def test_an_algorithm_is_frozen_and_equal_to_its_twin() -> None:
    still = Still(0.4)
    assert still == Still(0.4) and hash(still) == hash(Still(0.4))
    with pytest.raises(FrozenInstanceError):
        still.lr = 0.1


def test_all_but_the_step_size_are_keywords() -> None:
    with pytest.raises(TypeError):
        Still(0.4, 0.5)


def test_what_theorem2_does_not_have_is_said() -> None:
    assert Still(0.1).beyond_theorem2 == ()
    first, second = Still(0.1, lr_decay=0.9, weight_decay=1e-4).beyond_theorem2
    assert "smaller over time" in first and "weight decay" in second


def test_the_own_gradient_has_noise_and_weight_decay() -> None:
    task = Task(small_module(), dtype=torch.float64)
    net = Net(ring(3))
    x = task.initial.repeat(3, 1)
    batches = [small_batch(4, seed=k) for k in range(3)]
    grad = private_gradient(task, PerSample(1.0), 0.7, 4, Reproducible(0))
    plain, info = Still(0.1).own_gradient(x, batches, net, grad, 1)
    decayed, _ = Still(0.1, weight_decay=0.5).own_gradient(x, batches, net, grad, 1)
    assert torch.equal(decayed, plain + 0.5 * x)
    assert torch.equal(plain, grad.own(x, batches, net.selves, 1).private)
    assert set(info.values) == {
        "train_loss",
        "clip_fraction",
        "gradient_norm",
        "broken_gradients",
    }


# ------------------------------------------------------------------ diagnostics
def about(
    loss: float, samples: int, clipped: int = 0, broken: int = 0, length: float = 0.5
) -> Clipped:
    return Clipped(
        torch.zeros(1),
        loss=loss,
        samples=samples,
        clipped=clipped,
        pieces=samples,
        broken=broken,
        length=length,
    )


def answers_of(net: Net, found: list[Clipped]) -> Answers:
    visits = Visits(net.visits.edges, net.visits.host)
    return Answers(torch.zeros(len(found), 1), torch.zeros(3, 1), found, visits)


def test_losses_are_of_own_models_and_counts_of_all_answers() -> None:
    net = Net(ring(3))  # everybody answers everybody: nine visits
    found = [
        about(10.0 * k, 5, clipped=k % 3, broken=1, length=float(k)) for k in range(9)
    ]
    values = batch_info(answers_of(net, found), net)
    assert values["gradient_norm"].tolist() == [0.0, 4.0, 8.0]
    assert values["train_loss"].tolist() == [0.0, 8.0, 16.0]
    assert values["clip_fraction"].tolist() == pytest.approx([3 / 15] * 3)
    assert values["broken_gradients"].tolist() == [3, 3, 3]


def test_an_empty_batch_has_no_loss_and_no_fraction() -> None:
    net = Net(ring(3))
    values = batch_info(answers_of(net, [about(0.0, 0)] * 9), net)
    assert all(map(math.isnan, values["train_loss"].tolist()))
    assert all(map(math.isnan, values["gradient_norm"].tolist()))
    assert all(map(math.isnan, values["clip_fraction"].tolist()))
    assert values["broken_gradients"].tolist() == [0, 0, 0]


def test_what_is_printed_of_diagnostics_has_names_and_no_numbers() -> None:
    assert repr(Info({"train_loss": torch.ones(3)})) == "Info(train_loss)"


# ------------------------------------------------------------------ answers
def test_most_algorithms_give_the_default_answers() -> None:
    still, graph = Still(0.1), ring(4)
    assert still.check(graph) is None
    none = (
        *(still.needs_shared_seed, still.unproven_because, still.caveat),
        *(still.calibration, still.theorem1_alpha, still.noise_factors(graph)),
        still.attainable(graph),
    )
    assert set(none) == {None}
    assert (still.public_records, still.period, still.compressible) == (0, 1, False)
    assert (still.answers_neighbours, still.mixes_last, still.calibrates) == (
        False,
    ) * 3
    assert (still.sends_unnoised, still.in_theorem2) == (False, False)
    assert still.shows_step == StepShown("model", False, False, False, "")
    assert (still.public_diagnostics, still.example) == (frozenset(), {})


def test_who_lacks_a_method_is_no_algorithm() -> None:
    class Half(Algorithm):
        disclosure = OwnGradients()

    with pytest.raises(TypeError, match="abstract"):
        Half()


@pytest.mark.parametrize("name", sorted(NAMES))
def test_answers_of_our_algorithms_are_of_their_types(name: str) -> None:
    kind = named(name).kind
    algorithm = make(name, {"lr": 0.1, **kind.example})
    graph = ring(4)
    assert isinstance(algorithm.period, int) and algorithm.period >= 1
    assert isinstance(algorithm.shows_step, StepShown)
    for text in (
        *(algorithm.needs_shared_seed, algorithm.unproven_because, algorithm.caveat),
        algorithm.attainable(graph),
    ):
        assert text is None or (isinstance(text, str) and text)
    if algorithm.calibration:
        assert algorithm.calibrates
        assert algorithm.calibration.noisy_reference != algorithm.sends_unnoised
    if algorithm.sends_unnoised:
        assert algorithm.caveat, "who sends a gradient without noise says so"
    if algorithm.compressible:
        assert algorithm.answers_neighbours


# ------------------------------------------------------------------ shared fields
def test_options_that_several_have_are_declared_once() -> None:
    @dataclass(frozen=True)
    class Two(Still):
        momentum: float = momentum_option(0.25)
        local_steps: int = local_steps_option()

    declared = {f.name: f for f in fields(Two)}
    assert (Two().momentum, Two().local_steps) == (0.25, 1)
    assert checked(declared["momentum"], 0.9) == 0.9
    for name, wrong in (("momentum", 1.0), ("local_steps", 0)):
        with pytest.raises(InputError, match=name):
            checked(declared[name], wrong)
    assert declared["momentum"].metadata["search"].high == 0.95
