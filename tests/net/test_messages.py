"""What leaves, and what it weighs."""

from __future__ import annotations

import pytest
import torch

from dpdl.graph import ring
from dpdl.net import Leaving, Net


def leaving(rows: torch.Tensor, messages: int) -> Leaving:
    edges = torch.tensor([[0, 1]] * messages).view(-1, 2)
    return Leaving("model", edges, rows, torch.zeros(messages, dtype=torch.int64))


@pytest.mark.parametrize(
    ("rows", "messages", "weight"),
    [
        (torch.zeros(2, 10), 3, 120),
        (torch.zeros(2, 10, dtype=torch.float64), 3, 240),
        (torch.zeros(5, 7, dtype=torch.uint8), 4, 28),
        (torch.zeros(2, 3, 4), 1, 48),
        (torch.zeros(2), 5, 20),
        (torch.zeros(2, 10), 0, 0),
    ],
)
def test_a_row_weighs_as_often_as_it_is_sent(rows, messages, weight) -> None:
    assert leaving(rows, messages).bytes == weight


class Halves:
    """A codec that sends every second entry, as float64."""

    def __init__(self) -> None:
        self.numbers: list[list[int]] = []

    def encode(self, answers, visits, numbers):
        assert len(answers) == len(visits.edges) == len(numbers)
        self.numbers.append(numbers.tolist())
        return answers[:, ::2].double()

    def decode(self, got, like):
        out = like.new_zeros(len(got), like.shape[1])
        out[:, ::2] = got.to(like.dtype)
        return out


def test_replies_leave_encoded_and_an_answer_to_oneself_does_not() -> None:
    seen: list[Leaving] = []
    net = Net(ring(4), observers=[seen.append])
    answers = torch.arange(1.0, 12 * 6 + 1).reshape(12, 6)
    codec = Halves()
    with net.replies_as(codec):
        got = net.reply("gradient", answers)
        net.send("model", torch.zeros(4, 6))
    own = net.visits.edges[:, 0] == net.visits.edges[:, 1]
    assert torch.equal(got[own], answers[own])
    assert torch.equal(got[~own][:, ::2], answers[~own][:, ::2])
    assert not got[~own][:, 1::2].any()
    reply, model = seen
    assert (reply.rows.shape, reply.rows.dtype) == ((12, 3), torch.float64)
    assert reply.bytes == 8 * 3 * 8, "eight messages of three float64"
    assert model.rows.dtype == torch.float32, "only replies are encoded"
    assert codec.numbers == [list(range(12))]
    assert torch.equal(net.reply("gradient", answers), answers), "it has ended"


def test_a_codec_ends_with_its_context_also_after_an_error() -> None:
    net = Net(ring(3))
    answers = torch.ones(9, 4)

    def fail() -> None:
        with net.replies_as(Halves()):
            raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        fail()
    assert torch.equal(net.reply("gradient", answers), answers)


def test_parts_and_other_graphs_of_a_net_are_encoded_too() -> None:
    net = Net(ring(4), entries=8)
    answers = torch.ones(12, 4)
    codec = Halves()

    def work(part):
        got = part.reply("gradient", answers[part.numbers])
        return {"sum": part.sum(got, torch.ones(len(got)))}

    with net.replies_as(codec):
        found = net.by_part(4, work)["sum"]
        net.on(net.graph).reply("gradient", answers)
    assert found.tolist() == [[3.0, 1.0, 3.0, 1.0]] * 4
    *of_parts, of_all = codec.numbers
    assert sorted(number for part in of_parts for number in part) == of_all
    assert len(of_parts) > 1
