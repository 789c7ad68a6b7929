"""What is done and what is accounted for cannot disagree: no such object can be made."""

from __future__ import annotations

import ast
import math
from dataclasses import FrozenInstanceError, dataclass, fields, replace
from pathlib import Path

import numpy as np
import pytest
import torch

import dpdl
from dpdl import graph as graphs
from dpdl.algorithms import DPDL, DPSGD, SoundDPDL
from dpdl.errors import InputError
from dpdl.planning.privacy_model import PrivacyModel
from dpdl.privacy.accounting import Effect, Step, epsilon
from dpdl.privacy.clip import PerChunk, PerSample, Unclipped
from dpdl.privacy.declared import largest_batch
from dpdl.privacy.gradient import PrivateGradient
from dpdl.privacy.mechanism import Mechanism
from dpdl.privacy.noise import Reproducible
from dpdl.privacy.sampling import FixedSize, Poisson
from dpdl.privacy.threats import DEFAULT_THREATS
from dpdl.tasks.task import Task
from tests.conftest import small_batch, small_module

SOURCE = Path(dpdl.__file__).parent
RECORDS = (100,) * 5
HONEST = Mechanism(PerSample(2.0), Poisson(8, RECORDS), 3.0)
CLIPS = [PerSample(2.0), PerChunk(2.0, 4), Unclipped(2.0)]
SAMPLERS = [Poisson(8, RECORDS), FixedSize(8, RECORDS)]
NUMBERS = [math.nan, -1.0, -1e-300, math.inf, -math.inf]


def spent(mechanism: Mechanism, relation: str = "add-remove") -> float:
    step = mechanism.step(0, Effect(mechanism.noise_multiplier))
    return epsilon([(step, 10)], 1e-5, relation)


# ------------------------------------------------------------------ another B
def test_there_is_one_batch_size_and_everything_follows_from_it() -> None:
    held = [f.name for kind in (PerSample, PerChunk, Unclipped) for f in fields(kind)]
    assert "batch_size" not in held
    for size in (1, 8, 200):
        m = HONEST.with_batch(size)
        assert (
            m.batch_size
            == m.sampling.batch_size
            == m.step(0, Effect(1.0)).batch
            == size
        )
        assert m.std == 3.0 * 2.0 / size
        assert m.sensitivity == 2.0 / size
        assert m.step(0, Effect(1.0)).rate == m.sampling.rate(0) == min(1, size / 100)


def test_a_share_is_accounted_for_at_its_own_rate() -> None:
    """B / D_i of a small agent would be a rate of 0.5, of a large one 0.05."""
    shared = replace(HONEST, sampling=Poisson.at_rate(0.1, (100, 20, 200)))
    assert shared.batch_size == 11 and shared.sensitivity == 2.0 / 11
    steps = [shared.step(agent, Effect(3.0)) for agent in range(3)]
    assert [step.rate for step in steps] == [0.1] * 3
    one = Step(3.0, 10, 100)
    for step in steps:
        assert epsilon([(step, 10)], 1e-5) == epsilon([(one, 10)], 1e-5)
    assert shared.largest_batch(1e-9) == max(
        largest_batch(0.1, records, 1e-9) for records in (100, 20, 200)
    )


def test_the_gradient_is_a_mean_over_the_batch_size_that_is_sampled() -> None:
    task, batch = Task(small_module(), dtype=torch.float64), small_batch(6, 1)
    for clip in CLIPS:
        eight = replace(HONEST, clip=clip)
        few, many = (
            m.gradient(task, task.initial, batch).gradient
            for m in (eight, eight.with_batch(16))
        )
        factor = 1 if isinstance(clip, PerChunk) else 2
        assert torch.allclose(few, factor * many)


def test_a_private_gradient_has_no_numbers_of_its_own() -> None:
    names = {f.name for f in fields(PrivateGradient)}
    assert names == {"model", "mechanism", "randomness", "factors", "validate"}
    task = Task(small_module())
    grad = PrivateGradient(task, HONEST, Reproducible(0))
    assert grad.std == HONEST.std and grad.batch_size == 8
    assert grad.clip.sensitivity == HONEST.sensitivity
    with pytest.raises(TypeError):
        PrivateGradient(task, HONEST, Reproducible(0), batch_size=100)
    with pytest.raises(FrozenInstanceError):
        HONEST.noise_multiplier = 0.1


# ------------------------------------------------------------------ an unclipped gradient
@pytest.mark.parametrize("clip", CLIPS[1:], ids=str)
@pytest.mark.parametrize("sampler", SAMPLERS, ids=str)
def test_a_record_that_is_not_clipped_by_itself_costs_infinity(clip, sampler) -> None:
    m = Mechanism(clip, sampler, 1e5)
    assert math.isinf(spent(m, "replace-one"))
    for kind in (DPSGD, SoundDPDL, DPDL):
        model = PrivacyModel(kind(), graphs.ring(5), m, 10, 1e-5, 10**6, "replace-one")
        assert all(math.isinf(model.worst(listener)) for listener in DEFAULT_THREATS)
        assert all(math.isinf(model.needed_sigma(8.0, t)) for t in DEFAULT_THREATS)


@dataclass(frozen=True)
class OwnClip:
    """Says that it bounds a record, and does not."""

    clip_norm: float = 1.0
    bounds_record = True

    def sensitivity(self, batch_size: int) -> float:
        return self.clip_norm / batch_size


@dataclass(frozen=True)
class OwnSampler:
    """Says that it is Poisson sampling, and takes the first records."""

    batch_size: int = 8
    declared: tuple[int, ...] = RECORDS
    fixed = False

    def draw(self, records, randomness, round, agent) -> np.ndarray:
        return np.arange(self.batch_size)


def test_what_nobody_has_proven_anything_about_does_not_construct() -> None:
    with pytest.raises(InputError, match="clipping"):
        replace(HONEST, clip=OwnClip())
    with pytest.raises(InputError, match="sampling"):
        replace(HONEST, sampling=OwnSampler())
    for norm in (0.0, *NUMBERS):
        for kind in (PerSample, Unclipped, lambda c: PerChunk(c, 4)):
            with pytest.raises(InputError, match="clip must be"):
                kind(norm)


# ------------------------------------------------------------------ a fixed-size sampler
def test_a_fixed_size_sampler_is_accounted_for_as_one() -> None:
    fixed = replace(HONEST, sampling=FixedSize(8, RECORDS))
    assert fixed.step(0, Effect(1.0)).fixed
    assert spent(fixed, "replace-one") > spent(HONEST)
    with pytest.raises(InputError, match="replace-one only"):
        PrivacyModel(DPSGD(), graphs.ring(5), fixed, 10, 1e-5, 100)
    with pytest.raises(InputError, match="replace-one"):
        spent(fixed, "add-remove")
    # Algorithm 1 has a proof for Poisson sampling only.
    alone = PrivacyModel(DPDL(), graphs.ring(5), fixed, 9, 1e-5, 10**6, "replace-one")
    assert all(
        math.isinf(alone.with_noise(1e5).worst(listener))
        for listener in DEFAULT_THREATS
    )


def test_a_batch_larger_than_the_records_counts_as_all_of_them() -> None:
    for sampler in (Poisson(300, RECORDS), FixedSize(300, RECORDS)):
        assert replace(HONEST, sampling=sampler).step(0, Effect(1.0)).rate == 1


# ------------------------------------------------------------------ a sigma that is none
@pytest.mark.parametrize("sigma", NUMBERS)
def test_a_sigma_that_is_none_does_not_construct(sigma: float) -> None:
    with pytest.raises(InputError, match="sigma must be"):
        HONEST.with_noise(sigma)
    with pytest.raises(InputError, match="sigma must be"):
        replace(HONEST, noise_multiplier=sigma)


@pytest.mark.parametrize("sigma", [math.nan, -1.0, -math.inf])
def test_no_step_has_a_sigma_that_is_none(sigma: float) -> None:
    with pytest.raises(InputError, match="sigma must be"):
        HONEST.step(0, Effect(sigma))
    with pytest.raises(InputError, match="sigma must be"):
        Step(sigma, 8, 100)


def test_without_noise_a_step_costs_infinity_whatever_is_claimed_of_it() -> None:
    silent = HONEST.with_noise(0.0)
    assert math.isinf(epsilon([(silent.step(0, Effect(50.0)), 1)], 1e-5))
    assert math.isinf(spent(silent))
    assert silent.std == 0


# ------------------------------------------------------------------ noise that differs by edge
def test_factors_that_take_noise_away_do_not_construct() -> None:
    task, fair = Task(small_module()), np.ones((5, 5))
    PrivateGradient(task, HONEST, Reproducible(0), fair)
    for factors in (0.5 * fair, fair - 0.01 * np.eye(5), np.nan * fair, 0 * fair):
        with (
            np.errstate(divide="ignore"),
            pytest.raises(InputError, match="noise factors"),
        ):
            PrivateGradient(task, HONEST, Reproducible(0), factors)
    for graph in (graphs.ring(5), graphs.star(5), graphs.build("erdos-renyi", 5)):
        calibrated = SoundDPDL(noise_split="calibrated").noise_factors(graph)
        PrivateGradient(task, HONEST, Reproducible(0), calibrated)


# ------------------------------------------------------------------ nobody else
def calls_of(name: str) -> list[str]:
    """The modules of the package that call something by this name."""
    return [
        str(file.relative_to(SOURCE))
        for file in sorted(SOURCE.rglob("*.py"))
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == name
    ]


def test_only_the_mechanism_makes_a_step() -> None:
    reads_it_back = "folder/data_ledger_entries.py"  # a step that was stored
    assert calls_of("Step") == [reads_it_back, "privacy/mechanism.py"]


WORDS = {"clip_unit", "sampling", "randomness", "noise", "noise_split", "compress"}
EDGE = {
    "planning/build.py": "makes the objects",
    "planning/plan.py": "makes the randomness",
    "planning/noise_rule.py": "chooses the rule for sigma",
    "experiment/experiment.py": "checks what was asked for",
    "folder/ledger_lines.py": "reads the header of a ledger",
    "folder/verify.py": "reads the experiment beside a ledger of format 1",
    "folder/data_ledger_place.py": "refuses runs whose noise protects nothing",
    "training/ledger_choice.py": "finds the ledger of a run that protects records",
    "peer/agreed_options.py": "refuses manifests whose noise protects nothing",
    "peer/proposed_experiment.py": "refuses proposals whose noise protects nothing",
}
"""Where an option's word is compared, and what for."""


def test_nothing_else_reads_a_word_to_decide_what_is_private() -> None:
    found: dict[str, list[str]] = {}
    for file in sorted(SOURCE.rglob("*.py")):
        name = str(file.relative_to(SOURCE))
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            subjects = []
            if isinstance(node, ast.Compare):
                subjects = [node.left, *node.comparators]
            elif isinstance(node, ast.Match):
                subjects = [node.subject]
            for subject in subjects:
                if isinstance(subject, ast.Attribute) and subject.attr in WORDS:
                    found.setdefault(name, []).append(ast.unparse(node)[:60])
    assert {name: at for name, at in found.items() if name not in EDGE} == {}
