"""What a recorded file holds of a channel fits together, or is refused before it is used."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from dpdl.attacks.wires import wires

EDGES, ROWS = torch.tensor([[0, 1], [1, 0], [0, 1]]), torch.ones(2, 5)
WHOLE = {"a.edges": EDGES, "a.rows": ROWS, "a.at": torch.tensor([0, 1, 1])}


def test_channels_come_by_name() -> None:
    found = wires({**WHOLE, **{f"0{name}": one for name, one in WHOLE.items()}}, 2)
    assert list(found) == ["0a", "a"]
    assert torch.equal(found["a"].rows, ROWS)
    assert repr(found["a"]) == "Wire(3 messages, 2 rows)"


def test_a_file_without_messages_has_no_channels() -> None:
    assert wires({}, 2) == {}


@pytest.mark.parametrize("name", WHOLE)
def test_a_channel_has_three_tensors(name: str) -> None:
    rest = {key: one for key, one in WHOLE.items() if key != name}
    with pytest.raises(ValueError, match=f"it has no tensor '{name}'"):
        wires(rest, 2)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("a.edges", EDGES[:2]),
        ("a.edges", EDGES.float()),
        ("a.edges", EDGES + 1),
        ("a.edges", EDGES - 1),
        ("a.edges", torch.zeros(3, 3, dtype=torch.int64)),
        ("a.rows", ROWS[:1]),
        ("a.rows", ROWS[0]),
        ("a.rows", ROWS.long()),
        ("a.at", torch.tensor(1)),
        ("a.at", torch.tensor([0, 1, 2])),
        ("a.at", torch.tensor([0, -1, 1])),
        ("a.at", torch.tensor([0.0, 1.0, 1.0])),
        ("a.at", torch.tensor([0, 1, 2**62])),
    ],
)
def test_tensors_that_do_not_fit_together_are_refused(name: str, value: Tensor) -> None:
    with pytest.raises(ValueError, match="the tensors of 'a' do not fit together"):
        wires({**WHOLE, name: value}, 2)
