"""Agents with secrets of their own compute the bits of one process that has them all."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import pytest
import torch
from torch import Tensor

from dpdl.algorithms import State
from dpdl.errors import RunFailed
from dpdl.experiment.experiment import Experiment
from dpdl.net import Net
from dpdl.planning.plan import Plan, plan
from dpdl.privacy.links import first_link, next_link, noise_key
from dpdl.privacy.noise import Randomness
from dpdl.privacy.sealed import Sealed
from dpdl.transport import Post
from tests.peer.escrow import Escrowed, begun
from tests.places import alone, on_threads

AGENTS, ROUNDS, VIEW = 4, 3, 0
PAIRS = [(i, j) for i in range(AGENTS) for j in range(i + 1, AGENTS)]


def secret(agent: int, t: int) -> bytes:
    return hashlib.sha256(f"secret of {agent} in {t}".encode()).digest()


def links(t: int) -> Mapping[tuple[int, int], bytes]:
    """As peers have them: a chain for every pair, and a key of the round's noise."""
    found = {}
    for i, j in PAIRS:
        agreed = hashlib.sha256(f"between {i} and {j}".encode()).digest()
        key = first_link(agreed, b"a run", (f"agent-{i}", f"agent-{j}"))
        for _ in range(t - 1):
            key = next_link(key)
        found[i, j] = noise_key(key, VIEW)
    return found


def planned(name: str, graph: str) -> Plan:
    e = Experiment(
        algorithm=name,
        dataset="digits",
        model="mlp",
        graph=graph,
        agents=AGENTS,
        rounds=ROUNDS,
        batch=16,
        sigma=4.0,
        lr=0.1,
        randomness="secure",
    )
    return plan(e)


def rounds(p: Plan, post: Post, randomness: Randomness, begin=lambda t: None) -> State:
    """A few rounds of the agents hosted here, with some randomness."""
    net = Net(p.graph, post)
    site = p.site(net.agents.tolist()).altered(p.public.mechanism, randomness)
    state = p.algorithm.init(p.task.initial.repeat(len(net.agents), 1))
    for t in range(1, ROUNDS + 1):
        begin(t)
        post.begin(t)
        batches = site.batches(net.agents, t)
        state, _ = p.algorithm.round(state, batches, net, site.grad, t)
    return state


def as_peers(p: Plan) -> list[State]:
    """One agent per thread, each with a secret of its own and with the keys of its own links."""

    def work(post: Post) -> State:
        randomness, me = Sealed(), post.rank

        def begin(t: int) -> None:
            own = {pair: key for pair, key in links(t).items() if me in pair}
            randomness.begin(secret(me, t), own)

        return rounds(p, post, randomness, begin)

    return on_threads(AGENTS, work)


@pytest.mark.parametrize("graph", ["ring", "complete"])
@pytest.mark.parametrize(
    "name",
    ["dpdl", "dpdl-sound", "dp-dpsgd", "muffliato", "dp-netfleet", "decor", "concord"],
)
def test_peers_compute_the_bits_of_the_process_that_has_their_secrets(
    name: str, graph: str
) -> None:
    p = planned(name, graph)
    whole = rounds(p, alone(), Escrowed(secret, links))
    found = as_peers(p)
    for key, expected in whole.items():
        assert torch.equal(torch.cat([state[key] for state in found]), expected)
    assert not torch.equal(whole["x"], p.task.initial.repeat(AGENTS, 1))


def other_secret(agent: int, t: int) -> bytes:
    return secret(agent + (agent == 2), t)


def other_links(t: int) -> Mapping[tuple[int, int], bytes]:
    return {**links(t), (2, 3): secret(9, t)}


@pytest.mark.parametrize(
    "escrow", [Escrowed(other_secret, links), Escrowed(secret, other_links)]
)
def test_one_wrong_secret_or_link_shows(escrow: Escrowed) -> None:
    p = planned("decor", "ring")
    whole = rounds(p, alone(), escrow)["x"]
    found = torch.cat([state["x"] for state in as_peers(p)])
    assert not torch.equal(whole, found)


# ------------------------------------------------------------------ address by address
def perturbed(randomness: Randomness, *where: int) -> Tensor:
    row = torch.ones(9)
    randomness.perturb(row, 0.5, "noise", *where, into=row)
    return row


def test_every_host_draws_from_its_own_secret() -> None:
    escrow = Escrowed(secret, links)
    for host in range(AGENTS):
        alone_there = begun(secret(host, 2))
        assert torch.equal(
            perturbed(escrow, 2, 0, host), perturbed(alone_there, 2, 0, host)
        )
        coins = [r.uniform(5, "batch", 2, host).tolist() for r in (escrow, alone_there)]
        assert coins[0] == coins[1]


def test_an_address_is_drawn_once_here_too() -> None:
    escrow = Escrowed(secret)
    perturbed(escrow, 1, 0, 1)
    with pytest.raises(RunFailed, match="drawn twice"):
        perturbed(escrow, 1, 0, 1)
    perturbed(escrow, 2, 0, 1)
    assert not escrow.repeatable and repr(escrow) == "Escrowed()"
