"""What an algorithm is: frozen hyper-parameters with `init` and `round`; state is an argument.

The files of this folder name torch in annotations only and compute with the methods of tensors.
So planning, which asks an algorithm what it discloses, does not have to import torch.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from dpdl.algorithms.disclosure import Disclosure
from dpdl.errors import InputError, unknown
from dpdl.options import (
    ABOVE_ZERO,
    AT_LEAST_ONE,
    AT_LEAST_ZERO,
    DECAY,
    MOMENTUM,
    Range,
    Value,
    option,
)
from dpdl.privacy.releases import Release

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

    from dpdl.graph import Graph
    from dpdl.net import Net
    from dpdl.privacy.gradient import Answers, Asked, PrivateGradient
    from dpdl.types import Batch

State = Mapping[str, "Tensor"]
"""What the next round needs: named tensors of shape (agents, ...), the models under "x"."""


class Info(NamedTuple):
    """Diagnostics of one round, one number per agent hosted here (NaN where there is none)."""

    values: Mapping[str, Tensor]  # name -> (agents,) float64

    def __repr__(self) -> str:
        return f"Info({', '.join(self.values)})"


class StepShown(NamedTuple):
    """Where an eavesdropper finds the step that an agent's model took in a round."""

    channel: str = "model"
    same_round: bool = False
    """Whether the message of round t has the step of round t, and not that of t - 1."""
    at_mixed: bool = False
    """Whether the gradient was taken at the mixed model, and not at the agent's own."""
    gossip: bool = False
    """Whether the channel carries several steps of accelerated gossip."""
    hidden_because: str = ""
    """Why no two recorded rounds show the step; empty: they do."""


class Calibration(NamedTuple):
    """The update of DPDL, with all that is needed to undo it."""

    alpha: float
    momentum: float  # beta
    lr: float
    noisy_reference: bool  # gradients are calibrated with the perturbed self-gradient
    exact: bool  # neither weight decay nor a changing step size


class LinkNoise(NamedTuple):
    """Noise that two agents share: one adds what the other subtracts."""

    factor: float  # c: its deviation over that of an agent's own noise, or the largest of them
    alone: bool  # whether nothing else is added to the perturbed gradient that it hides
    most: int  # with how many others an agent shares some, at most
    least: float | None = None  # the smallest c above 0, if pairs differ


class Algorithm(ABC):
    """One way to learn together, as a frozen dataclass. Its fields are its options.

    A field that is named like a shared option of an experiment (`seed`, `rounds`, `clip`, ...) is
    not an option of the algorithm: it is set from the experiment.

    After the methods that every algorithm implements come the questions that the rest of the
    package asks, with the answers that most algorithms give.
    """

    @property
    @abstractmethod
    def disclosure(self) -> Disclosure:
        """What a round discloses."""

    @abstractmethod
    def init(self, x: Tensor) -> State:
        """The state before the first round, from the models (agents, D)."""

    @abstractmethod
    def round(
        self,
        state: State,
        batches: Sequence[Batch],
        net: Net,
        grad: PrivateGradient,
        t: int,
    ) -> tuple[State, Info]:
        """Round t = 1, 2, ...: everything that leaves an agent goes through `net`."""

    @abstractmethod
    def releases(self, grad: PrivateGradient) -> tuple[Release, ...]:
        """Every channel that `round` uses, and what is in it."""

    # ------------------------------------------------------------------ facts of the class
    answers_neighbours: ClassVar[bool] = False
    """Whether agents compute gradients of their neighbours' models: cross-gradients."""
    mixes_last: ClassVar[bool] = False
    """Whether a round ends with mixing the models: where W has equal rows, all are equal then."""
    calibrates: ClassVar[bool] = False
    """Whether its momenta carry gradients that were calibrated as DPDL does."""
    agrees: ClassVar[bool] = False
    """Whether its agents can agree on the mean of what they perturbed: see `agreed`."""
    coalitions_anywhere: ClassVar[bool] = False
    """Whether `neighbours:K` counts any K agents, and not only K neighbours of one."""
    sends_unnoised: ClassVar[bool] = False
    """Whether something that leaves contains a gradient without noise of its own."""
    in_theorem2: ClassVar[bool] = False
    """Whether the convergence theorem of the paper is about it."""
    public_diagnostics: ClassVar[frozenset[str]] = frozenset()
    """Names in `Info` that are computed from perturbed gradients alone."""
    shows_step: ClassVar[StepShown] = StepShown()
    """Where its steps show on the wire."""
    example: ClassVar[Mapping[str, Value]] = {}
    """Values for options whose defaults it refuses, so that tests and tables can run it."""

    def agreed(
        self,
        x: Tensor,
        batches: Sequence[Batch],
        net: Net,
        grad: PrivateGradient,
        t: int,
        channel: str,
    ) -> tuple[Tensor, Info]:
        """The mean of all agents' perturbed gradients, known to each of them; if it `agrees`."""
        raise InputError(f"Agents of {type(self).__name__} do not agree on a mean.")

    # ------------------------------------------------------------------ questions
    def check(self, graph: Graph) -> None:  # noqa: B027
        """Refuse, by an `InputError`, a graph that the algorithm cannot serve."""

    @property
    def needs_shared_seed(self) -> str | None:
        """Why all agents must know the seed, which rules out secure noise; None: they need not."""
        return None

    def link_noise(self, graph: Graph) -> LinkNoise | None:
        """What `PrivateGradient.paired` is asked for; None: it is not."""
        return None

    def rejoined(self, x: Tensor) -> State:
        """The state of agents that go on without another one; models may be a round apart."""
        return self.init(x)

    def conspirators(self, graph: Graph) -> tuple[int, ...]:
        """Sizes of coalitions that every run says an epsilon for, beside one neighbour."""
        return ()

    def imprecise(self, graph: Graph, bytes_each: int) -> str | None:
        """A sentence on why numbers of so many bytes are too short for it; None: they are not."""
        return None

    @property
    def unproven_because(self) -> str | None:
        """Why no amount of noise gives a guarantee, as a clause; None: enough noise does."""
        return None

    @property
    def caveat(self) -> str | None:
        """A sentence that every privacy statement about it must contain, if any."""
        return None

    @property
    def public_records(self) -> int:
        """The number of records that it needs and that count as public."""
        return 0

    @property
    def period(self) -> int:
        """The number of rounds after which the pattern of its messages repeats."""
        return 1

    @property
    def compressible(self) -> bool:
        """Whether it sends cross-gradients, and its bound holds when they leave compressed.

        True promises a bound against an eavesdropper that holds for any received messages.
        """
        return False

    @property
    def calibration(self) -> Calibration | None:
        """The calibrated update of DPDL, if it has one."""
        return None

    def noise_factors(self, graph: Graph) -> np.ndarray | None:
        """Factors on the noise multiplier, [asker i, host j]; None: the same noise everywhere."""
        return None

    @property
    def theorem1_alpha(self) -> float | None:
        """The alpha of Theorem 1 of the paper; None: the theorem is not about this algorithm."""
        return None

    @property
    def beyond_theorem2(self) -> tuple[str, ...]:
        """Sentences on what it does that Theorem 2 of the paper does not have."""
        return ()

    def attainable(self, graph: Graph) -> str | None:
        """A sentence on how much of its bound a listener can really get, where that is known."""
        return None


def momentum_option(default: float = 0.7) -> Any:
    """A field for the momentum of an algorithm."""
    return option(default, "momentum beta", check=MOMENTUM, search=Range(0, 0.95))


def local_steps_option() -> Any:
    """A field for algorithms that do not exchange in every round."""
    return option(
        1,
        "rounds tau from one exchange to the next",
        check=AT_LEAST_ONE,
        search=Range(1, 8),
    )


SCHEDULES = ("constant", "cosine", "linear", "steps")
"""How a step size may change over a run."""


@dataclass(frozen=True)
class Stepped(Algorithm):
    """Steps of size eta_t, by a schedule over the T rounds of the run, and weight decay.

        steps      eta_t = lr lr_decay^floor((t - 1) / lr_decay_every)
        linear     eta_t = lr (T - t + 1) / T
        cosine     eta_t = lr (1 + cos(pi (t - 1) / T)) / 2
        constant   eta_t = lr

    Where a run is given more rounds, T is the new number from there on. It is public, so that no
    schedule gives anything away.
    """

    lr: float = option(
        0.1,
        "step size eta",
        check=ABOVE_ZERO,
        search=Range(0.01, 1, log=True),
        by="data set",
    )
    _: KW_ONLY
    lr_schedule: str = option(
        "steps",
        "how the step size goes down; 'linear' and 'cosine': to 0 over all rounds; "
        "'steps': by lr_decay",
        names=SCHEDULES,
    )
    lr_decay: float = option(
        1.0, "factor on the step size", check=DECAY, search=Range(0.8, 1)
    )
    lr_decay_every: int = option(
        30, "rounds between two such factors", check=AT_LEAST_ONE
    )
    rounds: int = 0  # T, set from the experiment; 0: not known
    weight_decay: float = option(
        0.0,
        "weight decay, added to the gradient of the step",
        check=AT_LEAST_ZERO,
        search=Range(1e-6, 1e-2, log=True),
    )

    def __post_init__(self) -> None:
        self.check_steps()

    def check_steps(self) -> None:
        """Refuse factors that no schedule would use."""
        if self.lr_schedule not in SCHEDULES:
            raise unknown("lr_schedule", self.lr_schedule, SCHEDULES)
        if self.lr_decay != 1 and self.lr_schedule != "steps":
            raise InputError(
                f"lr_decay is for lr_schedule 'steps'; with {self.lr_schedule!r} it must be 1."
            )

    @property
    def steady(self) -> bool:
        """Whether all steps have the same size."""
        return self.lr_decay == 1 and self.lr_schedule in ("steps", "constant")

    @property
    def beyond_theorem2(self) -> tuple[str, ...]:
        """Steps that become smaller, and weight decay."""
        found = []
        if not self.steady:
            found.append(
                "The theorem has one step size; this run made it smaller over time. "
                "The first one is used."
            )
        if self.weight_decay != 0:
            found.append("The theorem has no weight decay; this run had some.")
        return tuple(found)

    def eta(self, t: int) -> float:
        """The step size of round t = 1, 2, ..., T."""
        if self.lr_schedule in ("linear", "cosine"):
            return self.lr * self._left(t)
        return self.lr * self.lr_decay ** ((t - 1) // self.lr_decay_every)

    def _left(self, t: int) -> float:
        """The share of lr that a schedule over all rounds leaves in round t."""
        if not self.rounds:
            raise InputError(
                f"lr_schedule {self.lr_schedule!r} needs the number of rounds: give it to "
                "the experiment, or to the algorithm as rounds."
            )
        over = min(t - 1, self.rounds) / self.rounds
        if self.lr_schedule == "linear":
            return 1 - over
        return (1 + math.cos(math.pi * over)) / 2

    def own_gradient(
        self,
        x: Tensor,
        batches: Sequence[Batch],
        net: Net,
        grad: PrivateGradient,
        t: int,
    ) -> tuple[Tensor, Info]:
        """Every agent's clipped and perturbed gradient at its row of x, with weight decay."""
        answers = grad.own(x, batches, net.selves, t)
        return answers.private + self.weight_decay * x, Info(batch_info(answers, net))


def batch_info(answers: Answers | Asked, net: Net) -> dict[str, Tensor]:
    """Of every agent's own model on its own batch: loss, and length of the clipped gradient.

    Of all its answers: what clipping did to them.
    """
    n = len(net.agents)
    loss, length = [math.nan] * n, [math.nan] * n
    clipped, pieces, broken = [0] * n, [0] * n, [0] * n
    visits = answers.visits
    for (i, j), a, about in zip(
        visits.edges.tolist(), visits.host.tolist(), answers.about, strict=True
    ):
        clipped[a] += about.clipped
        pieces[a] += about.pieces
        broken[a] += about.broken
        if i == j and about.samples:
            loss[a] = about.loss / about.samples
            length[a] = about.length
    share = net.w.new_tensor(clipped) / net.w.new_tensor(pieces)
    return {
        "train_loss": net.w.new_tensor(loss),
        "clip_fraction": share,
        "gradient_norm": net.w.new_tensor(length),
        "broken_gradients": net.w.new_tensor(broken),
    }
