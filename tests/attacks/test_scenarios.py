"""What an adversary takes for a gradient is one, for every algorithm."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

import dpdl
from dpdl.algorithms import NAMES
from dpdl.attacks.recorded import Recording
from dpdl.attacks.scenarios import offered, target
from dpdl.errors import InputError
from dpdl.training.recording import RecordingRequest, with_batches_of
from tests.attacks.runs import gradient, record_clear

OPTIONS = {
    "dataset": "digits",
    "graph": "ring",
    "agents": 4,
    "rounds": 4,
    "batch": 16,
    "seed": 3,
    "lr": 0.05,
}
OPEN = {"noise": "none", "clip_unit": "none"}

# Cosines with the gradient of the private record, the least of four agents; without noise and
# clipping, in round 3. Momenta and trackers mix others' gradients in, or older ones; all else is
# the gradient itself, up to rounding.
LEAST = {
    ("dpdl", "mm"): 0.85,
    ("dpdl-sound", "mm"): 0.85,
    ("dp-netfleet", "step"): 0.9,
    ("net-fleet", "step"): 0.9,
    ("gradient-tracking", "step"): 0.9,
    ("momentum-tracking", "step"): 0.95,
    ("dfedsam", "step"): 0.85,
    ("qg-momentum", "step"): 0.998,
    ("gut", "step"): 0.998,
    ("dp-admm", "step"): 0.95,  # the multiplier is in it
    ("pdsl", "mm"): -1,  # the own gradient may have no weight at all
}


def recorded(
    name: str, path: Path, request: RecordingRequest, **options
) -> tuple[Recording, dpdl.Result]:
    more = {"validation": 50} if name == "pdsl" else {}
    e = dpdl.Experiment(**{**OPTIONS, **OPEN, **more, **options}, algorithm=name)
    result = dpdl.train(e, out=path, record=request)
    return Recording(path / "recording"), result


def cosine(
    recording: Recording, result: dpdl.Result, scenario: str, t: int, agent: int
) -> float:
    """Of what is attacked with the gradient of the one record that the agent used."""
    found = target(recording, scenario, t, 1, agent)
    site = with_batches_of(result.plan.everybody, 1)
    batch = site.batches(torch.tensor([agent]), t)[0]
    own = site.grad.mechanism.gradient(site.plan.task, found.model, batch).gradient
    return float(torch.cosine_similarity(found.direction, own, dim=0))


@pytest.mark.parametrize(
    "name",
    [name for name, one in NAMES.items() if not one.kind.shows_step.hidden_because],
)
def test_every_algorithm_shows_a_gradient(name: str, tmp_path: Path) -> None:
    recording, result = recorded(name, tmp_path / "run", RecordingRequest((3,), (1,)))
    scenarios = offered(recording, 3, 1)
    assert scenarios
    for scenario in scenarios:
        found = min(cosine(recording, result, scenario, 3, agent) for agent in range(4))
        assert found > LEAST.get((name, scenario), 0.9999), (scenario, found)


@pytest.mark.parametrize("graph", ["ring", "complete"])
def test_gossip_is_undone_however_long_it_is(graph: str, tmp_path: Path) -> None:
    """Muffliato sends once a round on a complete graph with equal weights, more often on a ring."""
    recording, result = recorded(
        "muffliato",
        tmp_path / "run",
        RecordingRequest((2,), (1,)),
        graph=graph,
        agents=8,
    )
    assert recording.repeats(1, "gossip") == {"ring": 5, "complete": 1}[graph]
    assert cosine(recording, result, "step", 2, 1) > 0.9999
    with pytest.raises(InputError, match="round 2 or later"):
        target(recording, "step", 1, None, 0)


def test_steps_that_do_not_show_are_refused_with_a_reason(tmp_path: Path) -> None:
    recording, _ = recorded("async-dpsgd", tmp_path / "run", RecordingRequest((2,)))
    with pytest.raises(InputError, match="an agent talks in few rounds"):
        target(recording, "step", 2, None, 0)


@pytest.fixture(scope="module")
def clear(tmp_path_factory) -> tuple[Path, dpdl.Result]:
    return record_clear(tmp_path_factory.mktemp("runs") / "clear")


def test_a_recorded_cross_gradient_is_that_of_the_private_batch_at_the_sent_model(
    clear,
) -> None:
    path, result = clear
    recording = Recording(path / "recording")
    found = target(recording, "cg", 3, 2, agent=1)
    expected = gradient(result, found.model, 1, 2, 3)
    torch.testing.assert_close(found.direction, expected, rtol=1e-4, atol=1e-6)


def test_an_eavesdropper_isolates_the_self_gradient_of_algorithm_1(clear) -> None:
    path, result = clear
    recording = Recording(path / "recording")
    found = target(recording, "self", 3, 1, agent=2)
    own = gradient(result, found.model, 2, 1, 3)
    assert torch.cosine_similarity(found.direction, own, dim=0) > 0.9999
    mixed = target(recording, "mm", 3, 1, agent=2)
    assert (
        torch.cosine_similarity(mixed.direction, own, dim=0) < 0.999
    )  # the neighbours' answers are in it


def test_a_step_is_the_gradient_for_algorithms_that_send_models(tmp_path: Path) -> None:
    request = RecordingRequest((1,), (2,))
    recording, result = recorded("dp-dpsgd", tmp_path / "run", request)
    assert offered(recording, 1, 2) == ["step"]
    found = target(recording, "step", 1, 2, agent=0)
    assert (
        torch.cosine_similarity(
            found.direction, gradient(result, found.model, 0, 2, 1), dim=0
        )
        > 0.9999
    )
    with pytest.raises(InputError, match="dp-dpsgd sends model only"):
        target(recording, "cg", 1, 2, agent=0)


@pytest.mark.parametrize(
    ("scenario", "batch", "hint"),
    [
        ("cgg", 1, "Did you mean 'cg'"),
        ("cg", 9, "not recorded with batches of 9"),
    ],
)
def test_what_a_recording_does_not_allow_is_refused(
    clear, scenario: str, batch: int, hint: str
) -> None:
    with pytest.raises(InputError, match=hint):
        target(Recording(clear[0] / "recording"), scenario, 3, batch, 0)


def test_momenta_and_cross_gradients_are_offered_where_they_were_sent(clear) -> None:
    assert offered(Recording(clear[0] / "recording"), 3, 1) == ["cg", "mm", "self"]


def test_messages_of_another_length_than_the_model_are_refused(tmp_path: Path) -> None:
    request = RecordingRequest((2,), (1,))
    recording, _ = recorded("dp-dpsgd", tmp_path / "run", request)
    target(recording, "step", 2, 1, 0)
    for path in recording.folder.glob("*.safetensors"):
        tensors = load_file(path)
        short = {
            k: t[:, :-1].clone() if k.endswith(".rows") else t
            for k, t in tensors.items()
        }
        save_file(short, path)
    with pytest.raises(InputError, match="not as long as the model"):
        target(recording, "step", 2, 1, 0)
