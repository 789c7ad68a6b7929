"""What an adversary takes for a gradient of the attacked agent: from messages to (model, direction).

    cg    the cross-gradient that agent j sent to i, at the model that i had sent
    mm    g~^i_t = v~^i_t - beta sum_j w_ij v~^j_{t-1}, at the model that i had sent: exact, from momenta on all links
    self  g~^i_t less the cross-gradients g_ddot^{ij} / (sqrt(w_ij) N) seen on the wire. What is left of Algorithm 1 is
          r (alpha k + 1 / (sqrt(w_ii) N)) + noise / (sqrt(w_ii) N), with the un-noised gradient r: the larger alpha and
          N, the less the noise hides. In `dpdl-sound`, r has the same noise as everything else.
    step  what an agent's model moved by, beyond averaging: for algorithms that send models or steps only

A direction is known up to a factor: inversion compares angles.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from dpdl.algorithms.muffliato import acceleration
from dpdl.attacks.view import Messages, View
from dpdl.errors import InputError, unknown
from dpdl.graph import Graph


class Case(NamedTuple):
    """What is attacked: a scenario in a recorded round, for batches of a size (None: the run's own)."""

    scenario: str
    round: int
    batch: int | None
    labels: str = "known"  # or "recovered"


class Target(NamedTuple):
    """One thing to invert."""

    model: Tensor  # (D,) where the gradient was taken
    direction: Tensor  # (D,) a multiple of the gradient, or of something that contains it
    agent: int  # whose records it is about


class Stepped(NamedTuple):
    """How an algorithm sends models that already contain the round's gradient; others show it one round later."""

    channel: str
    mixed: bool  # the gradient was taken at the mixed model of the round before; otherwise at the agent's own


STEPPED = {
    "qg-momentum": Stepped("step", mixed=True),
    "gradient-tracking": Stepped("model", mixed=True),
    "dfedsam": Stepped("model", mixed=True),
    "gut": Stepped("model", mixed=False),
}
CALIBRATED = ("dpdl", "dpdl-sound")
SILENT = {
    "async-dpsgd": "an agent talks in few rounds, and its steps show between those, not between two recorded ones"
}


def cross_gradient(view: View, t: int, batch: int | None, agent: int) -> Target:
    """What the attacked agent sent to the first neighbour whose link was recorded."""
    now = view.messages(t, batch)
    gradients = _channel(now, "gradient", "cg", view)
    for asker in view.neighbours(agent):
        if (agent, asker) in gradients:
            return Target(_sent(now, "model", asker, t), gradients[agent, asker], agent)
    raise InputError(f"No cross-gradient of agent {agent} was recorded in round {t}; record all links.")


def momentum(view: View, t: int, batch: int | None, agent: int) -> Target:
    """The agent's aggregated gradient, from momenta of two rounds."""
    now = view.messages(t, batch)
    _channel(now, "momentum", "mm", view)
    step = _sent(now, "momentum", agent, t).clone()
    if t > 1:
        before, beta = view.messages(t - 1), float(view.options["momentum"])
        for j in [agent, *view.neighbours(agent)]:
            step -= beta * float(view.W[agent, j]) * _sent(before, "momentum", j, t - 1)
    return Target(_sent(now, "model", agent, t), step, agent)


def self_gradient(view: View, t: int, batch: int | None, agent: int) -> Target:
    """What remains of the agent's aggregated gradient when its neighbours' answers are subtracted."""
    if view.options["algorithm"] not in CALIBRATED:
        raise InputError(f"Scenario 'self' undoes the calibration of {' and '.join(CALIBRATED)}, no other algorithm.")
    found = momentum(view, t, batch, agent)
    gradients = _channel(view.messages(t, batch), "gradient", "self", view)
    rest = found.direction
    for j in view.neighbours(agent):
        if (j, agent) not in gradients:
            raise InputError(f"The cross-gradient from {j} to {agent} was not recorded in round {t}; record all links.")
        rest = rest - gradients[j, agent] / (float(view.W[agent, j]) ** 0.5 * len(view.W))
    return found._replace(direction=rest)


def model_step(view: View, t: int, batch: int | None, agent: int) -> Target:
    """sum_j w_ij m^j - m^i of consecutive messages: the step size times what the agent's records contributed."""
    name = view.options["algorithm"]
    if name in SILENT:
        raise InputError(f"The steps of {name} cannot be read off a recording: {SILENT[name]}.")
    if name == "muffliato":
        return _gossip_step(view, t, batch, agent)
    if name in STEPPED:
        channel, at_mixed = STEPPED[name]
        if t == 1:
            raise InputError("A step shows against the round before; attack round 2 or later.")
        before, after, at = view.messages(t - 1), view.messages(t, batch), t - 1
    else:
        channel, at_mixed = "model", False
        before, after, at = view.messages(t, batch), view.after(t, batch), t
    _channel(before, channel, "step", view)
    mixed = _mixed(view, agent, lambda j: _sent(before, channel, j, at))
    moved = mixed - _sent(after, channel, agent, at + 1)
    return Target(mixed if at_mixed else _sent(before, channel, agent, at), moved, agent)


def _gossip_step(view: View, t: int, batch: int | None, agent: int) -> Target:
    """What Muffliato's first message of a round differs by from the model that the last round's gossip ended with."""
    if t == 1:
        raise InputError("A step shows against the round before; attack round 2 or later.")
    said = [view.messages(t - 1, number=k) for k in range(view.repeats(t - 1, "gossip"))]
    mixed = _mixed(view, agent, lambda j: _sent(said[-1], "gossip", j, t - 1))
    if len(said) > 1:
        gamma = acceleration(Graph(view.W))
        mixed = gamma * mixed + (1 - gamma) * _sent(said[-2], "gossip", agent, t - 1)
    return Target(mixed, mixed - _sent(view.messages(t, batch, number=0), "gossip", agent, t), agent)


def _mixed(view: View, agent: int, row: Callable[[int], Tensor]) -> Tensor:
    """The weighted mean of an agent's and its neighbours' rows."""
    around = torch.stack([row(j) for j in [agent, *view.neighbours(agent)]])
    weights = torch.tensor(view.W[agent, [agent, *view.neighbours(agent)]]).to(around)
    return weights @ around


SCENARIOS: Mapping[str, Callable[[View, int, int | None, int], Target]] = {
    "cg": cross_gradient,
    "mm": momentum,
    "self": self_gradient,
    "step": model_step,
}


def target(view: View, scenario: str, t: int, batch: int | None, agent: int) -> Target:
    """What a scenario gives the adversary."""
    if scenario not in SCENARIOS:
        raise unknown("scenario", scenario, SCENARIOS)
    return SCENARIOS[scenario](view, t, batch, agent)


def offered(view: View, t: int, batch: int | None) -> list[str]:
    """The scenarios that a recording allows."""
    channels = set(view.messages(t, batch))
    found = [name for name, channel in (("cg", "gradient"), ("mm", "momentum")) if channel in channels]
    if view.options["algorithm"] in CALIBRATED:
        found.append("self")
    return found if found else ["step"]


def _channel(messages: Messages, channel: str, scenario: str, view: View) -> Mapping[tuple[int, int], Tensor]:
    if channel not in messages:
        raise InputError(
            f"Scenario {scenario!r} needs messages on channel {channel!r}, but {view.options['algorithm']} sends "
            f"{', '.join(sorted(messages))} only."
        )
    return messages[channel]


def _sent(messages: Messages, channel: str, source: int, t: int) -> Tensor:
    """What an agent sent to all its neighbours; one link is enough to have it."""
    for (i, _), row in messages.get(channel, {}).items():
        if i == source:
            return row
    raise InputError(f"No {channel} of agent {source} was recorded in round {t}; record all links.")
