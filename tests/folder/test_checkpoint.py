"""A checkpoint is read as it was saved, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from dpdl.errors import InputError
from dpdl.folder.checkpoint import Checkpoint, digest, label, restore, store

STATE = {
    "x": torch.arange(6, dtype=torch.float32).reshape(2, 3),
    "v": torch.tensor([[1e-300], [float("1e300")]], dtype=torch.float64),
}
TOTALS = torch.tensor([[2**40, 0], [3, 1]])


@pytest.mark.parametrize("agents", [None, (4, 1)])
def test_it_comes_back_bit_for_bit(tmp_path: Path, agents) -> None:
    path = tmp_path / "state"
    saved = Checkpoint(7, 0.1 + 0.2, STATE, TOTALS, agents)
    store(path, saved)
    found = restore(path)
    assert (found.round, found.seconds, found.agents) == (7, 0.1 + 0.2, agents)
    assert found.state.keys() == STATE.keys()
    assert all(torch.equal(found.state[name], rows) for name, rows in STATE.items())
    assert torch.equal(found.totals, TOTALS)
    assert label(path) == (7, None if agents is None else frozenset(agents))


def test_rows_that_are_a_part_of_another_tensor_are_saved(tmp_path: Path) -> None:
    rows = torch.arange(12.0).reshape(3, 4).T[1:3]
    assert not rows.is_contiguous()
    store(tmp_path / "state", Checkpoint(1, 0.0, {"x": rows}, TOTALS))
    assert torch.equal(restore(tmp_path / "state").state["x"], rows)


def test_equal_content_has_an_equal_hash_and_other_content_another(
    tmp_path: Path,
) -> None:
    def saved(name: str, round: int = 1, seconds: float = 0.0, shift: float = 0.0):
        state = {"x": STATE["x"] + shift}
        store(tmp_path / name, Checkpoint(round, seconds, state, TOTALS))
        return digest(tmp_path / name)

    one = saved("one")
    assert one == saved("two")
    assert len({one, saved("a", 2), saved("b", 1, 1.0), saved("c", 1, 0.0, 1e-3)}) == 4


def test_one_changed_byte_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "state"
    store(path, Checkpoint(7, 1.0, STATE, TOTALS))
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(bytes(content))
    assert label(path).round == 7
    with pytest.raises(InputError, match="does not have the hash it was saved with"):
        restore(path)


@pytest.mark.parametrize("content", [None, b"", b"nothing", b"\x10" + b"\0" * 40])
def test_what_is_no_checkpoint_is_refused(tmp_path: Path, content) -> None:
    path = tmp_path / "state"
    if content is not None:
        path.write_bytes(content)
    for read in (restore, label):
        with pytest.raises(InputError, match="cannot be read"):
            read(path)


def test_it_shows_no_numbers_of_models() -> None:
    shown = repr(Checkpoint(7, 1.0, STATE, TOTALS))
    assert shown == "Checkpoint(round 7, x, v of 2 agents)"
