from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dpdl import graph as graphs
from dpdl.errors import InputError
from dpdl.net import Leaving, Meter, Net, Part, blocks, divided
from dpdl.training.instruments import gathered
from dpdl.types import Sent
from tests.places import alone as in_one
from tests.places import on_threads

GRAPHS = ["ring", "complete", "star", "path", "exponential", "erdos-renyi:0.4"]


@settings(max_examples=25, deadline=None)
@given(name=st.sampled_from(GRAPHS), agents=st.integers(3, 9), seed=st.integers(0, 50))
def test_mix_is_multiplication_by_w_and_keeps_the_mean(
    name: str, agents: int, seed: int
) -> None:
    graph = graphs.build(name, agents, "sinkhorn", seed)
    x = torch.randn(
        agents, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)
    )
    mixed = Net(graph).mix("x", x)
    assert (mixed - torch.from_numpy(graph.W.copy()) @ x).abs().max() < 1e-14
    assert (mixed.mean(0) - x.mean(0)).abs().max() < 1e-14


@settings(max_examples=15, deadline=None)
@given(
    name=st.sampled_from(GRAPHS), processes=st.integers(1, 5), seed=st.integers(0, 50)
)
def test_all_verbs_give_the_same_bits_on_any_number_of_processes(
    name: str, processes: int, seed: int
) -> None:
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
        return gathered(transport, net.place, total), gathered(
            transport, net.place, mixed
        )

    alone = work(in_one())
    spread = on_threads(processes, work)
    assert torch.equal(spread[0][0], alone[0])
    assert torch.equal(spread[0][1], alone[1])


def test_every_ask_is_answered_by_its_own_edge() -> None:
    graph = graphs.star(5)
    net = Net(graph)
    answers = torch.arange(len(net.visits.edges), dtype=torch.float32)[:, None]
    replies = net.reply("gradient", answers)
    asks = torch.tensor(
        [[i, j] for j in range(5) for i in range(5) if graph.W[i, j] > 0]
    )
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
            for (source, target), at in zip(
                leaving.edges.tolist(), leaving.at.tolist(), strict=True
            ):
                messages.add(
                    (leaving.channel, source, target, *leaving.rows[at].tolist())
                )
        assert sum(leaving.bytes for leaving in seen) == 8 * len(messages)
        return messages

    alone = work(in_one())
    neighbours = [(i, (i + 1) % 6) for i in range(6)] + [
        ((i + 1) % 6, i) for i in range(6)
    ]
    expected = {("model", s, t, *x[s].tolist()) for s, t in neighbours}
    expected |= {("gradient", s, t, *x[t].tolist()) for s, t in neighbours}
    assert alone == expected
    parts = on_threads(3, work)
    assert set().union(*parts) == expected
    assert sum(map(len, parts)) == len(expected)


# ------------------------------------------------------------------ parts
def parts_of(net: Net, width: int) -> list[Part]:
    found: list[Part] = []

    def note(part: Part) -> dict[str, torch.Tensor]:
        found.append(part)
        return {"agent": part.agents}

    assert torch.equal(net.by_part(width, note)["agent"], net.agents)
    return found


def test_a_part_is_filled_up_and_has_at_least_one_agent() -> None:
    assert divided([3, 3, 3, 3], 6) == [0, 0, 1, 1]
    assert divided([3, 3, 3, 3], 5) == [0, 1, 2, 3]
    assert divided([9, 1, 1, 9, 2], 3) == [0, 1, 1, 2, 3]
    assert divided([1, 1], 100) == [0, 0]
    assert divided([], 1) == []


@pytest.mark.parametrize("processes", [1, 2, 4])
@pytest.mark.parametrize("entries", [1, 60, 100, 100_000])
@pytest.mark.parametrize("name", ["ring", "complete", "star", "erdos-renyi:0.4"])
def test_parts_have_every_edge_once_and_no_more_than_fit(
    name: str, entries: int, processes: int
) -> None:
    graph = graphs.build(name, 9, "metropolis", 0)

    def work(transport):
        net = Net(graph, transport, entries=entries)
        parts = parts_of(net, 10)
        assert sorted(n for part in parts for n in part.numbers.tolist()) == list(
            range(len(net.visits.edges))
        )
        assert sum(len(part.i) for part in parts) == len(net.i)
        for part in parts:
            assert torch.equal(part.agents, net.agents[part.rows])
            assert torch.equal(part.visits.edges, net.visits.edges[part.numbers])
            assert len(part.i) * 10 <= entries or len(part.agents) == 1
            assert torch.equal(part.i[part.own], torch.arange(len(part.agents)))
        return [set(part.visits.edges[:, 0].tolist()) for part in parts], [
            part.agents.tolist() for part in parts
        ]

    found = on_threads(processes, work)
    assert (
        len({len(asking) for asking, _ in found}) == 1
    )  # all processes go through the same parts
    for k in range(len(found[0][0])):
        together = sorted(agent for _, agents in found for agent in agents[k])
        assert together == sorted(set().union(*(asking[k] for asking, _ in found)))
    if entries in (1, 100_000):
        assert len(found[0][0]) == (-(-9 // processes) if entries == 1 else 1)


@settings(max_examples=15, deadline=None)
@given(
    name=st.sampled_from(GRAPHS),
    processes=st.integers(1, 5),
    entries=st.sampled_from([1, 20, 50]),
    seed=st.integers(0, 9),
)
def test_what_is_done_part_by_part_is_done_as_in_one(
    name: str, processes: int, entries: int, seed: int
) -> None:
    graph = graphs.build(name, 6, "sinkhorn", seed)
    answer = torch.randn(6, 6, 5, generator=torch.Generator().manual_seed(seed))

    def work(transport):
        net = Net(graph, transport, entries=entries)

        def total(part):
            edges = part.visits.edges
            got = part.reply("gradient", answer[edges[:, 0], edges[:, 1]])
            assert torch.equal(got[part.own], answer[part.agents, part.agents])
            return {
                "sum": part.sum(got, part.w),
                "weights": part.sum(part.w[:, None], torch.ones(len(part.w))),
            }

        found = net.by_part(5, total)
        assert torch.allclose(
            found["weights"], torch.ones(len(net.agents), 1, dtype=torch.float64)
        )
        return tuple(
            gathered(transport, net.place, rows)
            for rows in (found["sum"], total(net)["sum"])
        )

    (alone, expected), (spread, _) = work(in_one()), on_threads(processes, work)[0]
    assert torch.equal(alone, expected)
    assert torch.equal(spread, expected)


@pytest.mark.parametrize("processes", [1, 3])
def test_what_leaves_in_parts_passes_the_exit_once_and_weighs_the_same(
    processes: int,
) -> None:
    graph = graphs.star(7)

    def work(transport):
        seen: list[Leaving] = []
        meter = Meter(7)
        net = Net(graph, transport, [seen.append, meter], entries=1)

        def named(part):
            edges = part.visits.edges
            return {
                "sum": part.sum(
                    part.reply("gradient", (10 * edges[:, :1] + edges[:, 1:]).float()),
                    part.w,
                )
            }

        net.by_part(2, named)
        messages = [
            (source, target, float(leaving.rows[at]))
            for leaving in seen
            for (source, target), at in zip(
                leaving.edges.tolist(), leaving.at.tolist(), strict=True
            )
        ]
        assert (
            sum(leaving.bytes for leaving in seen)
            == 4 * len(messages)
            == int(meter.bytes.sum())
        )
        return messages, len(seen), meter.bytes

    found = on_threads(processes, work)
    links = [(j, i) for i, j in graph.edges.tolist() if i != j]
    assert sorted(m for messages, _, _ in found for m in messages) == sorted(
        (j, i, 10.0 * i + j) for j, i in links
    )
    assert all(count == -(-7 // processes) for _, count, _ in found)
    assert sum(sent for _, _, sent in found).tolist() == [4 * 6, *[4] * 6]


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
