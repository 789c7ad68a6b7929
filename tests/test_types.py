"""The shapes that all layers share: what they compute, and what they do not show."""

from __future__ import annotations

import torch

from dpdl.types import Batch, ClippedSum, Sent, Visits


def test_a_receiver_combines_rows_of_the_same_senders() -> None:
    at = torch.tensor([1, 0, 1])
    x = Sent(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), at)
    v = Sent(torch.tensor([[10.0, 10.0], [20.0, 20.0]]), at)
    stepped = x.combine(v, lambda a, b: a - 0.1 * b)
    assert stepped.rows.tolist() == [[0.0, 1.0], [1.0, 2.0]]
    assert stepped.at is at
    assert x.rows.tolist() == [[1.0, 2.0], [3.0, 4.0]], (
        "the rows stay as they were sent"
    )


def test_rows_are_combined_in_their_own_type() -> None:
    sent = Sent(torch.ones(2, 3, dtype=torch.float64), torch.tensor([0, 1]))
    found = sent.combine(sent, lambda a, b: a + b)
    assert found.rows.dtype == torch.float64
    assert found.rows.shape == (2, 3)


def test_what_is_printed_tells_sizes_and_no_record() -> None:
    secret = torch.full((4, 1, 5, 5), 123.0)
    batch = Batch(secret, torch.zeros(4), torch.arange(4))
    assert repr(batch) == "Batch(private records of shape (1, 5, 5))"
    sent = Sent(torch.full((2, 1500), 123.0), torch.zeros(5))
    assert repr(sent) == "Sent(2 rows of 1,500 entries, read by 5 visits)"
    summed = ClippedSum(torch.full((1500,), 123.0), 123.0, 1, 0)
    assert repr(summed) == "ClippedSum(private gradient of 1,500 entries)"
    for text in map(repr, (batch, sent, summed)):
        assert "123" not in text and "4 " not in text


def test_visits_are_edges_and_the_rows_of_their_hosts() -> None:
    visits = Visits(torch.tensor([[0, 1], [1, 1]]), torch.tensor([0, 0]))
    some = visits._replace(edges=visits.edges[:1], host=visits.host[:1])
    assert some.edges.tolist() == [[0, 1]] and len(some.host) == 1
