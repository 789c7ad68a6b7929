"""What an adversary takes for a gradient of the attacked agent: a direction, and its model.

    cg    the cross-gradient that agent j sent to i, at the model that i had sent
    mm    g~^i_t = v~^i_t - beta sum_j w_ij v~^j_{t-1}, at the model that i had sent: exact, from
          momenta on all links
    self  g~^i_t less the cross-gradients g_ddot^{ij} / (sqrt(w_ij) N) seen on the wire. What is
          left of Algorithm 1 is r (alpha k + 1 / (sqrt(w_ii) N)) + noise / (sqrt(w_ii) N), with the
          un-noised gradient r: the larger alpha and N, the less the noise hides. In `dpdl-sound`, r
          has the same noise as everything else.
    step  what an agent's model moved by, beyond averaging: for algorithms that send models or steps

A direction is known up to a factor: inversion compares angles.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from dpdl import algorithms
from dpdl.attacks.recorded import Messages, Recording
from dpdl.errors import InputError, unknown
from dpdl.graph import Graph
from dpdl.graph.matrix import acceleration


class AttackCase(NamedTuple):
    """What is attacked: a scenario in a recorded round."""

    scenario: str
    round: int
    batch: int | None  # the size of the batches; None: the run's own
    labels: str = "known"  # or "recovered"


class Target(NamedTuple):
    """One thing to invert."""

    model: Tensor  # (D,) where the gradient was taken
    direction: Tensor  # (D,) a multiple of the gradient, or of what contains it
    agent: int  # whose records it is about


def cross_gradient(
    recording: Recording, t: int, batch: int | None, agent: int
) -> Target:
    """What the attacked agent sent to the first neighbour whose link was recorded."""
    now = recording.messages(t, batch)
    gradients = _channel(now, "gradient", "cg", recording)
    for asker in recording.neighbours(agent):
        if (agent, asker) in gradients:
            return Target(_sent(now, "model", asker, t), gradients[agent, asker], agent)
    raise InputError(
        f"No cross-gradient of agent {agent} was recorded in round {t}; record all "
        "links."
    )


def momentum(recording: Recording, t: int, batch: int | None, agent: int) -> Target:
    """The agent's aggregated gradient, from momenta of two rounds."""
    now = recording.messages(t, batch)
    _channel(now, "momentum", "mm", recording)
    step = _sent(now, "momentum", agent, t).clone()
    if t > 1:
        before = recording.messages(t - 1)
        beta = recording.facts.momentum
        for j in [agent, *recording.neighbours(agent)]:
            weight = beta * float(recording.W[agent, j])
            step -= weight * _sent(before, "momentum", j, t - 1)
    return Target(_sent(now, "model", agent, t), step, agent)


def self_gradient(
    recording: Recording, t: int, batch: int | None, agent: int
) -> Target:
    """What remains of the agent's aggregated gradient without its neighbours' answers."""
    if not _calibrates(recording):
        raise InputError(
            "Scenario 'self' undoes the calibration of dpdl and dpdl-sound, no other "
            "algorithm."
        )
    found = momentum(recording, t, batch, agent)
    gradients = _channel(recording.messages(t, batch), "gradient", "self", recording)
    rest = found.direction
    for j in recording.neighbours(agent):
        if (j, agent) not in gradients:
            raise InputError(
                f"The cross-gradient from {j} to {agent} was not recorded in round "
                f"{t}; record all links."
            )
        scale = float(recording.W[agent, j]) ** 0.5 * len(recording.W)
        rest = rest - gradients[j, agent] / scale
    return found._replace(direction=rest)


def model_step(recording: Recording, t: int, batch: int | None, agent: int) -> Target:
    """The step size times what the agent's records contributed.

    sum_j w_ij m^j - m^i of consecutive messages.
    """
    name = recording.facts.algorithm
    shown = algorithms.named(name).kind.shows_step
    if shown.hidden_because:
        raise InputError(
            f"The steps of {name} cannot be read off a recording: "
            f"{shown.hidden_because}."
        )
    if shown.same_round and t == 1:
        raise InputError(
            "A step shows against the round before; attack round 2 or later."
        )
    if shown.gossip:
        return _gossip_step(recording, t, batch, agent, shown.channel)
    if shown.same_round:
        at, before = t - 1, recording.messages(t - 1)
        after = recording.messages(t, batch)
    else:
        at, before = t, recording.messages(t, batch)
        after = recording.after(t, batch)
    channel = shown.channel
    _channel(before, channel, "step", recording)
    mixed = _mixed(recording, agent, lambda j: _sent(before, channel, j, at))
    moved = mixed - _sent(after, channel, agent, at + 1)
    model = mixed if shown.at_mixed else _sent(before, channel, agent, at)
    return Target(model, moved, agent)


def _gossip_step(
    recording: Recording, t: int, batch: int | None, agent: int, channel: str
) -> Target:
    """The first message of a round, less the model that the last gossip ended with."""
    gossip = [
        recording.messages(t - 1, number=k)
        for k in range(recording.repeats(t - 1, channel))
    ]
    mixed = _mixed(recording, agent, lambda j: _sent(gossip[-1], channel, j, t - 1))
    if len(gossip) > 1:
        gamma = acceleration(Graph(recording.W))
        before = _sent(gossip[-2], channel, agent, t - 1)
        mixed = gamma * mixed + (1 - gamma) * before
    stepped = _sent(recording.messages(t, batch, number=0), channel, agent, t)
    return Target(mixed, mixed - stepped, agent)


def _calibrates(recording: Recording) -> bool:
    """Whether momenta carry calibrated gradients."""
    return algorithms.named(recording.facts.algorithm).kind.calibrates


def _mixed(recording: Recording, agent: int, row: Callable[[int], Tensor]) -> Tensor:
    """The weighted mean of an agent's and its neighbours' rows."""
    agents = [agent, *recording.neighbours(agent)]
    rows = torch.stack([row(j) for j in agents])
    weights = torch.tensor(recording.W[agent, agents]).to(rows)
    return weights @ rows


SCENARIOS: Mapping[str, Callable[[Recording, int, int | None, int], Target]] = {
    "cg": cross_gradient,
    "mm": momentum,
    "self": self_gradient,
    "step": model_step,
}


def target(
    recording: Recording, scenario: str, t: int, batch: int | None, agent: int
) -> Target:
    """What a scenario gives the adversary."""
    if scenario not in SCENARIOS:
        raise unknown("scenario", scenario, SCENARIOS)
    found = SCENARIOS[scenario](recording, t, batch, agent)
    if not len(found.model) == len(found.direction) == recording.task.size:
        raise InputError(
            f"The recording of round {t} is damaged: its messages are not as long as "
            "the model."
        )
    return found


def offered(recording: Recording, t: int, batch: int | None) -> list[str]:
    """The scenarios that a recording allows."""
    channels = set(recording.messages(t, batch))
    found = [
        name
        for name, channel in (("cg", "gradient"), ("mm", "momentum"))
        if channel in channels
    ]
    if _calibrates(recording):
        found.append("self")
    return found if found else ["step"]


def _channel(
    messages: Messages, channel: str, scenario: str, recording: Recording
) -> Mapping[tuple[int, int], Tensor]:
    if channel not in messages:
        raise InputError(
            f"Scenario {scenario!r} needs messages on channel {channel!r}, but "
            f"{recording.facts.algorithm} sends {', '.join(sorted(messages))} "
            "only."
        )
    return messages[channel]


def _sent(messages: Messages, channel: str, source: int, t: int) -> Tensor:
    """What an agent sent to all its neighbours, from any recorded link."""
    for (i, _), row in messages.get(channel, {}).items():
        if i == source:
            return row
    raise InputError(
        f"No {channel} of agent {source} was recorded in round {t}; record all links."
    )
