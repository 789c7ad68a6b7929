"""A post numbers the exchanges of a process, so that all processes give them the same addresses."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from dpdl.transport import COLLECT, CONTROL, OF_THE_RUN, Address, Post


class Noted:
    """A transport that writes down addresses, and returns what it was given."""

    rank, size, apart = 2, 5, True

    def __init__(self) -> None:
        self.addresses: list[Address] = []

    def swap(
        self,
        address: Address,
        out: Mapping[int, Tensor],
        expect: Mapping[int, int],
        like: Tensor,
    ) -> dict[int, Tensor]:
        self.addresses.append(address)
        return dict(out)


LIKE = torch.zeros(1)


def used(post: Post, *channels: str) -> None:
    for channel in channels:
        post.swap(channel, {}, {}, LIKE)


def test_exchanges_are_numbered_within_a_round_whatever_the_channel() -> None:
    transport = Noted()
    post = Post(transport)
    used(post, CONTROL)
    post.begin(1)
    used(post, "model", "gradient", "model")
    post.begin(2)
    used(post, "model")
    assert transport.addresses == [
        Address(0, CONTROL, 0),
        Address(1, "model", 0),
        Address(1, "gradient", 1),
        Address(1, "model", 2),
        Address(2, "model", 0),
    ]


def test_a_round_that_is_begun_again_goes_on_counting() -> None:
    """Otherwise a round with two phases would use an address twice."""
    transport = Noted()
    post = Post(transport)
    post.begin(4)
    used(post, "model")
    post.begin(4)
    used(post, "model")
    assert [one.number for one in transport.addresses] == [0, 1]
    assert len(set(transport.addresses)) == 2


def test_a_post_is_where_its_transport_is() -> None:
    post = Post(Noted())
    assert (post.rank, post.size, post.apart) == (2, 5, True)


def test_rows_pass_unchanged() -> None:
    rows = torch.ones(2, 3)
    assert Post(Noted()).swap("model", {1: rows}, {1: 2}, rows) == {1: rows}


def test_the_channels_of_the_run_are_marked() -> None:
    assert CONTROL != COLLECT
    assert all(name.startswith(OF_THE_RUN) for name in (CONTROL, COLLECT))
