"""Members are found where they can be found, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor

import dpdl
from dpdl.attacks import harness
from dpdl.attacks.membership import candidates_of, membership
from dpdl.attacks.scenarios import AttackCase
from dpdl.errors import InputError
from dpdl.training.recording import RecordingRequest
from tests.attacks.alone import run_alone

OPTIONS = {
    "dataset": "digits",
    "graph": "ring",
    "agents": 10,
    "rounds": 4,
    "batch": 16,
    "seed": 3,
    "lr": 0.05,
}


def recorded(
    path: Path, request: RecordingRequest, **options
) -> tuple[Path, dpdl.Result]:
    return path, dpdl.train(
        dpdl.Experiment(**{**OPTIONS, **options}), out=path, record=request
    )


@pytest.fixture(scope="module")
def clear(tmp_path_factory) -> tuple[Path, dpdl.Result]:
    """Clipped, without noise."""
    return recorded(
        tmp_path_factory.mktemp("runs") / "clear",
        RecordingRequest((3,), (1, 2, 24)),
        noise="none",
    )


@pytest.fixture(scope="module")
def noisy(tmp_path_factory) -> Path:
    return recorded(
        tmp_path_factory.mktemp("runs") / "noisy",
        RecordingRequest((3,), (1, 2)),
        sigma=50.0,
    )[0]


@pytest.mark.parametrize(("scenario", "batch"), [("cg", 1), ("cg", 2), ("self", 2)])
def test_members_of_small_batches_are_known_without_noise(
    clear, scenario: str, batch: int
) -> None:
    found = membership(clear[0], AttackCase(scenario, 3, batch))
    assert found.members == 10 * batch and found.agents == tuple(range(10))
    assert found.scores.gradient.auc > 0.98
    assert found.scores.loss.auc > 0.6  # chance is 0.5


def test_what_gradients_have_in_common_is_no_sign_of_membership(clear) -> None:
    """Damping is what makes the attack strong on the run's own batches."""
    case = AttackCase("cg", 3, None)
    assert membership(clear[0], case).scores.gradient.auc_interval[0] > 0.85
    plain = membership(
        clear[0], case, damping=lambda public, direction: lambda rows: rows
    )
    assert plain.scores.gradient.auc < 0.7


@pytest.mark.parametrize("scenario", ["cg", "mm"])
@pytest.mark.parametrize("batch", [1, None])
def test_strong_noise_hides_membership(
    noisy: Path, scenario: str, batch: int | None
) -> None:
    found = membership(noisy, AttackCase(scenario, 3, batch)).scores.gradient
    low, high = found.auc_interval
    assert low < 0.5 < high


def test_low_rates_come_from_enough_records_or_not_at_all(clear) -> None:
    few = membership(clear[0], AttackCase("cg", 3, 2)).scores.gradient
    assert few.tpr_at_1_percent is None and "20 non-members" in few.note
    many = membership(clear[0], AttackCase("cg", 3, 24)).scores.gradient
    low, high = many.tpr_interval
    assert low <= many.tpr_at_1_percent <= high and high - low < 0.15
    assert many.fpr_measured < 0.05


def test_candidates_are_the_batch_and_other_records_of_the_same_agent(clear) -> None:
    plan = clear[1].plan
    for case in (AttackCase("cg", 3, None), AttackCase("cg", 3, 2)):
        candidates, count = candidates_of(plan, case, 4, seed=0)
        truth, _ = harness.truth_of(plan, case, 4)
        own = rows(
            plan.data.inputs(
                plan.data.x[torch.from_numpy(plan.parts[4])], torch.float32
            )
        )
        inside, outside = rows(candidates.x[:count]), rows(candidates.x[count:])
        assert inside == rows(truth) and len(candidates.y) == 2 * count
        assert outside <= own and not outside & inside


def rows(x: Tensor) -> set[tuple[float, ...]]:
    return {tuple(one) for one in x.flatten(1).tolist()}


def test_the_seed_decides_everything(clear) -> None:
    first, again, other = (
        membership(clear[0], AttackCase("cg", 3, 2), [0, 1, 2], seed)
        for seed in (0, 0, 1)
    )
    assert first == again and first.scores != other.scores


def test_without_a_next_model_there_is_no_loss_score(clear) -> None:
    found = membership(clear[0], AttackCase("cg", 4, None), [0]).scores
    assert found.loss is None and found.gradient.auc > 0.5


@pytest.mark.parametrize(
    ("case", "agents", "hint"),
    [
        (AttackCase("cgg", 3, None), None, "cg"),
        (AttackCase("cg", 1, None), None, "Round 1 was not recorded"),
        (AttackCase("cg", 3, 7), None, "recorded are 1, 2, 24"),
        (AttackCase("cg", 3, 1), [10], "agents 0 to 9"),
        (AttackCase("cg", 3, 1), [], "No attacked agent"),
    ],
)
def test_what_cannot_be_attacked_is_refused(
    clear, case: AttackCase, agents: list[int] | None, hint: str
) -> None:
    with pytest.raises(InputError, match=hint):
        membership(clear[0], case, agents)


def test_secure_randomness_leaves_nothing_to_measure(tmp_path: Path) -> None:
    path, _ = recorded(
        tmp_path / "run",
        RecordingRequest((2,)),
        agents=3,
        randomness="secure",
        sigma=1.0,
    )
    with pytest.raises(InputError, match="secure randomness"):
        membership(path, AttackCase("cg", 2, None))


def test_the_adversary_needs_the_recording_and_records_alone(
    clear, tmp_path: Path
) -> None:
    code = """
from dpdl.attacks.candidates import Candidates, scores
from dpdl.attacks.scenarios import AttackCase
from dpdl.attacks.recorded import Recording
records = Candidates(torch.randn(5, 1, 8, 8), torch.arange(5))
found = scores(Recording(RECORDING), AttackCase("cg", 3, 1), 0, records, records)
assert len(found.gradient) == len(found.loss) == 5
"""
    run_alone(code, clear[0], tmp_path)
