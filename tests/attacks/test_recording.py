"""A recording is what passed the exit, and all that an attack may read."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest
import torch

import dpdl
from dpdl.attacks.recorded import Recording
from dpdl.attacks.targets import offered, target
from dpdl.errors import InputError
from dpdl.net import Leaving
from dpdl.training.interrupt import Interrupted
from dpdl.training.recording import (
    Recorder,
    RecordingRequest,
    check,
    recording_request,
    with_batches_of,
)
from tests.attacks.alone import run_alone
from tests.commands import dpdl as command

OPTIONS = {
    "dataset": "digits",
    "graph": "ring",
    "agents": 4,
    "rounds": 4,
    "batch": 16,
    "seed": 3,
    "lr": 0.05,
}


def recorded(path: Path, request: RecordingRequest, **options) -> dpdl.train:
    return dpdl.train(
        dpdl.Experiment(**{**OPTIONS, **options}), out=path, record=request
    )


@pytest.fixture(scope="module")
def clear(tmp_path_factory) -> tuple[Path, dpdl.Result]:
    """DPDL without noise and clipping: what was sent can be computed anew."""
    path = tmp_path_factory.mktemp("runs") / "clear"
    return path, recorded(
        path,
        RecordingRequest((3,), (1, 2)),
        algorithm="dpdl",
        noise="none",
        clip_unit="none",
    )


def gradient(
    result: dpdl.Result, model: torch.Tensor, agent: int, size: int, t: int
) -> torch.Tensor:
    """Of the records that an agent used when round t was played with batches of a size."""
    site = with_batches_of(result.plan.everybody, size)
    batch = site.batches(torch.tensor([agent]), t)[0]
    assert len(batch.y) == size
    return site.grad.mechanism.gradient(site.plan.task, model, batch).gradient


def test_the_round_its_neighbours_and_other_batches_are_there(clear) -> None:
    recording = Recording(clear[0] / "recording")
    assert recording.rounds == (3,) and recording.batches == (1, 2)
    every = [
        recording.messages(t, size)
        for t, size in ((2, None), (3, None), (4, None), (3, 1), (3, 2))
    ]
    for messages in (
        *every,
        recording.after(3, None),
        recording.after(3, 1),
        recording.after(3, 2),
    ):
        assert set(messages) == {"model", "gradient", "momentum"}
        assert set(messages["gradient"]) == {
            (i, j) for i in range(4) for j in recording.neighbours(i)
        }
    with pytest.raises(InputError, match="Round 1 was not recorded"):
        recording.messages(1)
    with pytest.raises(
        InputError, match="with batches of 7; recorded are 1, 2, the run's own"
    ):
        recording.messages(3, 7)


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
    result = recorded(
        tmp_path / "run",
        RecordingRequest((1,), (2,)),
        algorithm="dp-dpsgd",
        noise="none",
        clip_unit="none",
    )
    recording = Recording(tmp_path / "run" / "recording")
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


def test_recording_does_not_change_the_run(clear) -> None:
    plain = dpdl.train(
        dpdl.Experiment(**OPTIONS, algorithm="dpdl", noise="none", clip_unit="none")
    )
    assert torch.equal(plain.models, clear[1].models)


def test_noise_of_other_batches_is_larger_and_their_own(tmp_path: Path) -> None:
    recorded(
        tmp_path / "noisy", RecordingRequest((2,), (1,)), algorithm="dpdl", sigma=5.0
    )
    recording = Recording(tmp_path / "noisy" / "recording")
    own, single = (recording.messages(2, size)["gradient"][0, 1] for size in (None, 1))
    assert float(single.std() / own.std()) == pytest.approx(
        16, rel=0.2
    )  # sigma C / B, B = 1 instead of 16
    assert abs(float(torch.corrcoef(torch.stack([own, single]))[0, 1])) < 0.1


def test_what_is_public_does_not_tell_the_seed(clear) -> None:
    facts = json.loads((clear[0] / "recording" / "public.json").read_text())
    assert "seed" not in json.dumps(facts)


def test_attacks_need_the_recording_alone(clear, tmp_path: Path) -> None:
    code = """
from dpdl.attacks.adversary import Knowledge, rebuild
from dpdl.attacks.inverting import Settings
from dpdl.attacks.pixels import Pixels
from dpdl.attacks.targets import AttackCase
settings, pixels = Settings(iterations=3, restarts=1), Pixels((0.5,), (0.5,))
known = Knowledge(RECORDING, None, AttackCase("cg", 3, 1), (0, 2), 1, None, pixels, "inverting", settings)
images, _, labels = rebuild(known, lambda share: None)
assert images.shape == (2, 1, 1, 8, 8) and labels.shape == (2, 1)
"""
    run_alone(code, clear[0], tmp_path)


def test_a_resumed_run_goes_on_recording(clear, tmp_path: Path) -> None:
    """Interrupted in the round before the one that is asked for: what is recorded is what an unbroken run records."""
    e = dpdl.Experiment(**OPTIONS, algorithm="dpdl", noise="none", clip_unit="none")

    def stop_at_2(t: int, metrics) -> None:
        if t == 2:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(Interrupted):
        dpdl.train(
            e,
            out=tmp_path / "run",
            record=RecordingRequest((3,), (1, 2)),
            watch=stop_at_2,
        )
    folder = tmp_path / "run" / "recording"
    assert sorted(path.name for path in folder.glob("*.safetensors")) == [
        "000002.safetensors"
    ]
    dpdl.resume(tmp_path / "run")
    for path in (clear[0] / "recording").iterdir():
        assert (folder / path.name).read_bytes() == path.read_bytes(), path.name


def test_a_damaged_recording_is_not_gone_on_with(tmp_path: Path) -> None:
    recorded(tmp_path / "run", RecordingRequest((3,)), noise="none")
    (tmp_path / "run" / "recording" / "index.json").write_text("{")
    with pytest.raises(InputError, match="is damaged"):
        dpdl.resume(tmp_path / "run")


def test_messages_that_do_not_fit_are_not_held_in_memory(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, RecordingRequest((1,), megabytes=1))
    edges = torch.tensor([[0, 1], [0, 2]])
    with recorder.round(1):
        recorder(
            Leaving("model", edges, torch.zeros(1, 200_000), torch.tensor([0, 0]))
        )  # one row of 0.8 MB
        assert recorder._parts and len(recorder._parts["model"][0].rows) == 1
        recorder(
            Leaving("gradient", edges, torch.zeros(2, 100_000), torch.tensor([0, 1]))
        )
        assert recorder._parts is None
    index = json.loads((tmp_path / "index.json").read_text())
    assert index["full"] == "000001.safetensors" and index["files"] == []


def test_no_more_is_written_than_allowed(tmp_path: Path) -> None:
    recorded(
        tmp_path / "run",
        RecordingRequest((3,), (1, 2), megabytes=1),
        algorithm="dpdl",
        noise="none",
        model="cnn",
    )
    folder = tmp_path / "run" / "recording"
    index = json.loads((folder / "index.json").read_text())
    assert index["full"] is not None
    assert sum(file.stat().st_size for file in folder.glob("*.safetensors")) <= 1e6


def test_links_that_are_asked_for_are_recorded_and_no_others(tmp_path: Path) -> None:
    recorded(
        tmp_path / "run",
        RecordingRequest((2,), links=frozenset({(0, 1)})),
        algorithm="dpdl",
        noise="none",
    )
    recording = Recording(tmp_path / "run" / "recording")
    assert all(set(rows) == {(0, 1)} for rows in recording.messages(2).values())
    with pytest.raises(InputError, match="record all links"):
        target(recording, "mm", 2, None, agent=2)


@pytest.mark.parametrize(
    ("asked", "hint"),
    [
        (RecordingRequest((9,)), "rounds 1 to 4"),
        (RecordingRequest((2,), (10_000,)), "1 to "),
        (RecordingRequest((2,), links=frozenset({(0, 2)})), "no such edge"),
    ],
)
def test_what_cannot_be_recorded_is_refused(
    clear, asked: RecordingRequest, hint: str
) -> None:
    with pytest.raises(InputError, match=hint):
        check(asked, clear[1].plan)


@pytest.mark.parametrize(
    "words",
    [
        ("x", "", "all", 5),
        ("2", "a", "all", 5),
        ("2", "", "0:1", 5),
        ("2", "", "all", 0),
    ],
)
def test_words_that_are_no_wish_are_refused(words) -> None:
    with pytest.raises(InputError):
        recording_request(*words)


def test_other_placements_and_secure_randomness_are_refused(tmp_path: Path) -> None:
    e = dpdl.Experiment(**OPTIONS, noise="none")
    with pytest.raises(InputError, match="placement 'alone'"):
        dpdl.train(
            e, out=tmp_path / "a", record=RecordingRequest((2,)), placement="threads:2"
        )
    with pytest.raises(InputError, match="extra releases"):
        recorded(
            tmp_path / "b", RecordingRequest((2,), (1,)), randomness="secure", sigma=1.0
        )


def test_a_run_without_recording_says_how_to_make_one(
    monkeypatch, capsys, tmp_path: Path
) -> None:
    dpdl.train(dpdl.Experiment(**OPTIONS, noise="none"), out=tmp_path / "run")
    code, _, err = command(monkeypatch, capsys, "attack", str(tmp_path / "run"))
    assert code == 2 and "--record ROUNDS" in err
