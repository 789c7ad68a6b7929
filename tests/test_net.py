from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dpdl import graph as graphs
from dpdl.errors import InputError
from dpdl.net import Leaving, Net, blocks
from dpdl.transport import Alone, PeerLost, Threads
from dpdl.transport.threads import run_threads
from dpdl.types import Sent

GRAPHS = ["ring", "complete", "star", "path", "exponential", "erdos-renyi:0.4"]


def on_threads(size: int, work):
    """What every rank's `work(transport)` gave."""
    found = {}

    def one(transport: Threads) -> None:
        found[transport.rank] = work(transport)

    run_threads(size, one)
    return [found[rank] for rank in range(size)]


@settings(max_examples=25, deadline=None)
@given(name=st.sampled_from(GRAPHS), agents=st.integers(3, 9), seed=st.integers(0, 50))
def test_mix_is_multiplication_by_w_and_keeps_the_mean(name: str, agents: int, seed: int) -> None:
    graph = graphs.build(name, agents, "sinkhorn", seed)
    x = torch.randn(agents, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    mixed = Net(graph).mix("x", x)
    assert (mixed - torch.from_numpy(graph.W.copy()) @ x).abs().max() < 1e-14
    assert (mixed.mean(0) - x.mean(0)).abs().max() < 1e-14


@settings(max_examples=15, deadline=None)
@given(name=st.sampled_from(GRAPHS), processes=st.integers(1, 5), seed=st.integers(0, 50))
def test_all_verbs_give_the_same_bits_on_any_number_of_processes(name: str, processes: int, seed: int) -> None:
    graph = graphs.build(name, 6, "sinkhorn", seed)
    x = torch.randn(6, 5, generator=torch.Generator().manual_seed(seed))

    def work(transport):
        net = Net(graph, transport)
        sent = net.send("model", x[net.agents])
        # The answer of an edge names the edge: 100 i + j, beside the row that was asked about.
        names = (100 * net.visits.edges[:, 0] + net.visits.edges[:, 1]).float()[:, None]
        replies = net.reply("gradient", torch.cat([names, sent.rows[sent.at]], dim=1))
        total = net.sum(replies, net.w)
        mixed = net.average(Sent(sent.rows * 2, sent.at))
        return net.collect(total), net.collect(mixed), net.agree(transport.rank == 0)

    alone = work(Alone())
    spread = on_threads(processes, work)
    assert torch.equal(spread[0][0], alone[0])
    assert torch.equal(spread[0][1], alone[1])
    assert all(part[2] for part in spread)


def test_every_ask_is_answered_by_its_own_edge() -> None:
    graph = graphs.star(5)
    net = Net(graph)
    answers = torch.arange(len(net.visits.edges), dtype=torch.float32)[:, None]
    replies = net.reply("gradient", answers)
    asks = torch.tensor([[i, j] for j in range(5) for i in range(5) if graph.W[i, j] > 0])
    assert torch.equal(replies, answers)
    assert torch.equal(net.visits.edges, asks)
    assert torch.equal(asks[net.own][:, 0], torch.arange(5))


def test_what_leaves_is_every_edge_but_self_loops_once_on_any_placement() -> None:
    graph = graphs.ring(6)
    x = torch.arange(12.0).reshape(6, 2)

    def work(transport):
        seen: list[Leaving] = []
        net = Net(graph, transport, [seen.append])
        sent = net.send("model", x[net.agents])
        net.reply("gradient", sent.rows[sent.at])
        messages = set()
        for leaving in seen:
            for (source, target), at in zip(leaving.edges.tolist(), leaving.at.tolist(), strict=True):
                messages.add((leaving.channel, source, target, *leaving.rows[at].tolist()))
        assert sum(leaving.bytes for leaving in seen) == 8 * len(messages)
        return messages

    alone = work(Alone())
    neighbours = [(i, (i + 1) % 6) for i in range(6)] + [((i + 1) % 6, i) for i in range(6)]
    expected = {("model", s, t, *x[s].tolist()) for s, t in neighbours}
    expected |= {("gradient", s, t, *x[t].tolist()) for s, t in neighbours}
    assert alone == expected
    parts = on_threads(3, work)
    assert set().union(*parts) == expected
    assert sum(map(len, parts)) == len(expected)


def test_processes_share_agents_in_equal_blocks() -> None:
    assert blocks(7, 3).tolist() == [0, 0, 0, 1, 1, 2, 2]
    with pytest.raises(InputError, match="at most one process per agent"):
        blocks(2, 3)


def test_a_process_that_fails_is_reported_and_nobody_waits_for_it() -> None:
    def work(transport):
        net = Net(graphs.ring(6), transport)
        if transport.rank == 1:
            raise ValueError("broken on purpose")
        net.mix("x", torch.zeros(len(net.agents), 3))
        net.mix("x", torch.zeros(len(net.agents), 3))

    with pytest.raises(ValueError, match="broken on purpose"):
        on_threads(3, work)


def test_alone_has_nobody_to_swap_with() -> None:
    with pytest.raises(PeerLost, match="Process 1"):
        Alone().swap({1: torch.zeros(1)}, {}, torch.zeros(1))
