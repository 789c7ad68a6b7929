"""The rounds of one peer.

    begin(t):  1  the ledger of the data set is charged       paid
               2  the secrets of round t are durable
    first exchange:
               3  the state after round t - 1 and the first frames are durable, round t has begun
    every further exchange of the algorithm is committed before it leaves

A peer that dies is started again and does the round that had begun once more, from the same state
and with the same secrets: it computes the same frames.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, final

from safetensors.torch import load, save
from torch import Tensor

from dpdl.algorithms import State
from dpdl.errors import Diverged
from dpdl.net import Gate, Net
from dpdl.peer.failures import Stopped
from dpdl.peer.material import Material, material_for, material_of
from dpdl.peer.round_key import RoundKey
from dpdl.peer.standing import Standing
from dpdl.peer.store import Store
from dpdl.peer.transport import Peers
from dpdl.peer.view import View
from dpdl.planning.public_plan import PublicPlan
from dpdl.planning.site import Site
from dpdl.privacy.sealed import Sealed
from dpdl.transport import Post

MEAN = "mean"
"""The name of the averaged model beside an algorithm's own state."""


class Payer(Protocol):
    """As much of a data set's ledger as a round needs."""

    def debit(self, run: str, view: int, round: int) -> bool:
        """Charge a round, once; refused when nothing is left for it. False: it was already."""
        ...


Watch = Callable[[int, Mapping[str, Tensor], Tensor], None]
"""Called after every round with its number, what the algorithm reports, and the model."""


@final
@dataclass(frozen=True)
class Course:
    """What the rounds of a view are run with."""

    run: str
    name: str
    others: tuple[str, ...]  # all other members of the manifest, in its order
    view: View
    site: Site
    sealed: Sealed  # the randomness of the site
    store: Store
    keys: RoundKey
    ledger: Payer
    standing: Standing
    peers: Peers
    first_links: Callable[[], Mapping[str, bytes]]
    check: Callable[[], None]  # raises what makes this peer stop
    fault: Callable[[str], None]  # called at named points, where tests let it fail
    pausing: Callable[[], bool]  # whether to stop before the next round
    watch: Watch

    @property
    def plan(self) -> PublicPlan:
        """What everybody knows."""
        return self.site.plan


def first_state(plan: PublicPlan) -> bytes:
    """The state of one agent before round 1, as it is stored."""
    return packed(plan.algorithm.init(plan.task.initial[None].clone()))


def packed(state: State) -> bytes:
    """A state as bytes; no code is in it. Two of its parts may be one tensor, and are copied."""
    return save({name: rows.clone().contiguous() for name, rows in state.items()})


def unpacked(content: bytes) -> dict[str, Tensor]:
    """The state that was packed."""
    return load(content)


def run_rounds(course: Course) -> Tensor:
    """All rounds that are left; the model of this peer, (1, D)."""
    store, last = course.store, course.plan.experiment.rounds
    state: State = unpacked(store.state())
    first = max(course.view.start, store.here.round)
    net = _net(course)
    post = net[1]
    for t in range(first, last + 1):
        material = _begin(course, t, state)
        course.sealed.begin(
            material.secret, material.noise_keys(course.view, course.name)
        )
        post.begin(t)
        state, values = _round(course, net[0], state, t)
        course.watch(t, values, model_of(state))
    if store.here.done < last:
        store.finish(packed(state))
    return model_of(state)


def model_of(state: State) -> Tensor:
    """The model: the mean over the last rounds where that was asked for."""
    return state.get(MEAN, state["x"])


def _net(course: Course) -> tuple[Net, Post]:
    post = Post(course.peers)
    return Net(course.view.graph, post, [Gate(course.plan.releases)]), post


def _begin(course: Course, t: int, state: State) -> Material:
    """Pay, then make secrets and state durable, in this order; what was done is not repeated."""
    course.check()
    store, view, others = course.store, course.view.number, course.others
    if store.here.round == t:
        return material_of(course.keys, view, t, others)
    course.ledger.debit(course.run, view, t)
    course.fault("secret:before")
    material = material_for(course.keys, view, t, others, course.first_links)
    course.fault("secret:after")
    keep = min(course.standing.least() + 1, t - 1)
    if course.pausing():
        store.begin(t, packed(state), keep)
        raise Stopped(
            f"Paused before round {t}; remove the file 'pause', or say dpdl peer pause --off, and "
            "run it again."
        )
    store.prepare(t, packed(state), keep)
    return material


def _round(
    course: Course, net: Net, state: State, t: int
) -> tuple[State, Mapping[str, Tensor]]:
    site, plan = course.site, course.plan
    mean = state.get(MEAN)
    before = {name: rows for name, rows in state.items() if name != MEAN}
    batches = site.batches(net.agents, t)
    after, info = plan.algorithm.round(before, batches, net, site.grad, t)
    if not all(bool(rows.isfinite().all()) for rows in after.values()):
        raise Diverged(
            f"Training diverged: the model is no longer finite in round {t}; the members should "
            "propose a smaller lr."
        )
    return _averaged(after, mean, plan, t), info.values


def _averaged(after: State, mean: Tensor | None, plan: PublicPlan, t: int) -> State:
    """The state with the mean of the models of the last rounds, where that was asked for."""
    e = plan.experiment
    count = t - e.rounds + math.floor(e.average * e.rounds)
    if count < 1:
        return after
    x = after["x"]
    mean = x.clone() if mean is None or count == 1 else mean + (x - mean) / count
    return {**after, MEAN: mean}
