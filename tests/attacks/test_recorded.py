"""A recording is read as it was written, and what is missing is named."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

import dpdl
from dpdl.attacks.recorded import Recording
from dpdl.errors import InputError
from tests.attacks.runs import OPTIONS, record_clear
from tests.commands import dpdl as command

EXAMPLES = Path(__file__).parent / "examples"


@pytest.fixture(scope="module")
def clear(tmp_path_factory) -> tuple[Path, dpdl.Result]:
    return record_clear(tmp_path_factory.mktemp("runs") / "clear")


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


def test_a_run_without_recording_says_how_to_make_one(
    monkeypatch, capsys, tmp_path: Path
) -> None:
    dpdl.train(dpdl.Experiment(**OPTIONS), out=tmp_path / "run")
    code, _, err = command(monkeypatch, capsys, "attack", str(tmp_path / "run"))
    assert code == 2 and "--record ROUNDS" in err


@pytest.fixture
def gossip(tmp_path: Path) -> Path:
    """A recording of a round in which agent 0 sent twice to agent 1, written by hand."""
    folder = tmp_path / "run" / "recording"
    folder.mkdir(parents=True)
    shutil.copy(EXAMPLES / "public.json", folder)
    index = json.loads((EXAMPLES / "index.json").read_text())
    name = "000002.safetensors"
    (folder / "index.json").write_text(json.dumps({**index, "files": [name]}))
    tensors = {
        "gossip.edges": torch.tensor([[0, 1], [2, 1], [0, 1]]),
        "gossip.rows": torch.tensor([[1.0], [2.0], [3.0]]),
        "gossip.at": torch.tensor([2, 1, 0]),
    }
    save_file(tensors, folder / name)
    return folder


def test_of_several_messages_on_a_link_one_is_chosen_by_its_number(
    gossip: Path,
) -> None:
    recording = Recording(gossip)
    assert recording.repeats(2, "gossip") == 2
    first = recording.messages(2, number=0)["gossip"]
    last = recording.messages(2)["gossip"]
    assert (float(first[0, 1]), float(last[0, 1])) == (3.0, 1.0)
    assert float(last[2, 1]) == 2.0


def test_what_was_not_recorded_is_named_with_what_was(gossip: Path) -> None:
    recording = Recording(gossip)
    with pytest.raises(InputError, match=r"of 5; recorded are the run's own \(8\);"):
        recording.messages(2, 5)
    with pytest.raises(InputError, match="Round 3 was not recorded; recorded are 2;"):
        recording.after(2, None)
    (gossip / "000002.safetensors").write_bytes(b"no tensors")
    with pytest.raises(InputError, match="cannot be read"):
        recording.messages(2)


def test_everybody_or_those_that_are_named_are_attacked(gossip: Path) -> None:
    recording = Recording(gossip)
    assert recording.chosen(None) == (0, 1, 2)
    assert recording.chosen([2, 0]) == (2, 0) and recording.chosen([]) == ()
    for agent in (-1, 3):
        with pytest.raises(InputError, match=f"Agent {agent} .*agents 0 to 2"):
            recording.chosen([0, agent])


def test_the_model_is_the_one_that_is_named_or_given(gossip: Path) -> None:
    named, own = Recording(gossip), torch.nn.Linear(64, 10)
    assert named.task.shapes["1.weight"] == [64, 64] and named.shape == (1, 8, 8)
    assert Recording(gossip, own).task.shapes["weight"] == [10, 64]
    assert named.neighbours(1) == [0, 2]


@pytest.mark.parametrize("name", ["public.json", "index.json"])
@pytest.mark.parametrize("content", ["{", "{}", "[]"])
def test_a_damaged_recording_is_refused_with_the_file(
    gossip: Path, name: str, content: str
) -> None:
    (gossip / name).write_text(content)
    with pytest.raises(InputError, match=f"{name}' is damaged"):
        Recording(gossip)
