"""PORTER: gradient tracking of which only compressed differences are sent.

Round t, agent i, where g~^i_t is its clipped and perturbed gradient at x^i_t, and all of v, q, p
and g~_0 start at zero:

    v <- v + gamma sum_j w_ij (q^j - q^i) + g~_t - g~_{t-1}
    x <- x + gamma sum_j w_ij (p^j - p^i) - eta v
    q <- q + C(v - q),   p <- p + C(x - p)

q and p are what all neighbours know of tracker v and model x: they hear C(v - q) and C(x - p), and
add it up. C keeps the signs and the mean size of each parameter tensor (`signs`), as
`dpdl.algorithms.compression` does, D bits where there were D numbers; or everything. What C leaves
out stays in v - q and is sent later. The mean of all v is the mean of all g~_t in every round,
whatever C does.

PORTER-DP (Li, Chi, Convergence and Privacy of Decentralized Nonconvex Optimization with Gradient
Clipping and Communication Compression, 2023), which adds clipping and noise to BEER (Zhao, Li, Li,
Richtarik, Chi, 2022). What we do differently: gradients are cut at length C, the paper shrinks all
of them by C / (C + length); batches are Poisson samples, accounted for by privacy-loss
distributions; and C is the compression that this package has, where the paper allows any that loses
a bounded share.

All that leaves agent i in a round is computed from one Gaussian release, from earlier ones, and
from what others sent. Noise is perturbed once and kept, as in `gradient-tracking`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from dpdl.algorithms.base import Info, State, Stepped, StepShown
from dpdl.algorithms.compression import decode, encode, width
from dpdl.algorithms.disclosure import OwnGradients
from dpdl.options import Check, Range, option
from dpdl.parallel import each
from dpdl.privacy.releases import Release

if TYPE_CHECKING:
    from torch import Tensor

    from dpdl.net import Net
    from dpdl.privacy.gradient import PrivateGradient
    from dpdl.types import Batch

GAMMA = Check(lambda v: 0 < v <= 1, "above 0 and at most 1")


@final
@dataclass(frozen=True)
class Porter(Stepped):
    """Two rows of signs leave in a round."""

    consensus: float = option(
        0.5,
        "consensus step gamma: share of the way to the neighbours' mean",
        check=GAMMA,
        search=Range(0.05, 1, log=True),
    )
    signs: bool = option(
        True, "whether differences leave as signs and sizes, or as they are"
    )

    disclosure = OwnGradients()
    shows_step = StepShown(
        hidden_because="messages are differences to what was sent in all rounds before"
    )

    def init(self, x: Tensor) -> State:
        """Nobody knows anything of anybody yet: q = p = 0, and so are their means."""
        zero = x.new_zeros(x.shape)
        names = ("v", "g", "tracker", "model", "mean tracker", "mean model")
        return {"x": x, **dict.fromkeys(names, zero)}

    def round(
        self,
        state: State,
        batches: Sequence[Batch],
        net: Net,
        grad: PrivateGradient,
        t: int,
    ) -> tuple[State, Info]:
        """Two exchanges: what is new in trackers and models. `mean` rows are W q and W p."""
        x = state["x"]
        g, info = self.own_gradient(x, batches, net, grad, t)
        towards = {
            name: self.consensus * (state[f"mean {name}"] - state[name])
            for name in ("tracker", "model")
        }
        v = state["v"] + towards["tracker"] + g - state["g"]
        x = x + towards["model"] - self.eta(t) * v
        after = {"x": x, "v": v, "g": g}
        for name, row in (("tracker", v), ("model", x)):
            own, mean = self._told(name, row - state[name], net, grad.model.sizes)
            after[name] = state[name] + own
            after[f"mean {name}"] = state[f"mean {name}"] + mean
        return after, info

    def _told(
        self, channel: str, rows: Tensor, net: Net, sizes: tuple[int, ...]
    ) -> tuple[Tensor, Tensor]:
        """What is heard of every agent's row, and the weighted mean of it over its neighbours."""
        if not self.signs:
            return rows, net.mix(channel, rows)
        messages = rows.new_empty(len(rows), width(sizes)).byte()

        def write(k: int) -> None:
            messages[k].numpy()[:] = encode(rows[k], sizes)

        each(write, range(len(rows)))
        sent = net.send(channel, messages)
        heard = _read(sent.rows, rows, sizes)
        return _read(messages, rows, sizes), net.average(sent._replace(rows=heard))

    def releases(self, grad: PrivateGradient) -> tuple[Release, ...]:
        """The tracker carries the new gradient; sensitivity and noise are those before C."""
        form = "signs and scales of: " if self.signs else ""
        return (
            Release(
                "tracker",
                True,
                f"{form}v - q: perturbed gradients only",
                grad.clip.sensitivity,
                grad.noise_multiplier,
            ),
            Release(
                "model",
                private=False,
                carries=f"{form}x - p: computed from trackers and mixed models",
            ),
        )


def _read(messages: Tensor, like: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """The rows that messages stand for."""
    rows = like.new_empty(len(messages), like.shape[1])

    def read(k: int) -> None:
        rows[k] = decode(messages[k], sizes, rows[k])

    each(read, range(len(messages)))
    return rows
