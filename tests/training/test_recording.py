"""A recording is what passed the exit, and all that an attack may read."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest
import torch

import dpdl
from dpdl.attacks.recorded import Recording
from dpdl.attacks.scenarios import target
from dpdl.errors import InputError
from dpdl.net import Leaving
from dpdl.training.interrupt import Interrupted
from dpdl.training.recording import Recorder, check
from dpdl.training.recording_request import RecordingRequest

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


def test_a_resumed_run_goes_on_recording(clear, tmp_path: Path) -> None:
    """Interrupted in the round before the one that is to be recorded.

    What is recorded is what an unbroken run records.
    """
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


def test_chosen_links_are_recorded_and_no_others(tmp_path: Path) -> None:
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
