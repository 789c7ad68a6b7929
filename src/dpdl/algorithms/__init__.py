"""The algorithms, one file each. To add one, write its file and add its line here.

A package of your own adds one without a line here: an entry point of the group `dpdl.algorithms`
names its class. `module:Class` also works wherever the name of an algorithm is expected.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields

from dpdl.algorithms import outside
from dpdl.algorithms.admm import ADMM
from dpdl.algorithms.async_dpsgd import AsyncDPSGD
from dpdl.algorithms.base import (
    Algorithm,
    Calibration,
    Info,
    LinkNoise,
    State,
    StepShown,
)
from dpdl.algorithms.cga import CGA
from dpdl.algorithms.compression import Compressed
from dpdl.algorithms.concord import Concord
from dpdl.algorithms.corn import CorNDSGD
from dpdl.algorithms.decor import Decor
from dpdl.algorithms.dfedsam import DFedSAM
from dpdl.algorithms.dpdl import DPDL, SoundDPDL
from dpdl.algorithms.dpsgd import DMSGD, DPSGD
from dpdl.algorithms.epidemic import Epidemic
from dpdl.algorithms.exact_diffusion import ExactDiffusion
from dpdl.algorithms.gradient_tracking import GradientTracking
from dpdl.algorithms.gut import GUT
from dpdl.algorithms.momentum_tracking import MomentumTracking
from dpdl.algorithms.muffliato import Muffliato
from dpdl.algorithms.netfleet import NetFleet
from dpdl.algorithms.ngm import NGM
from dpdl.algorithms.pdsl import PDSL
from dpdl.algorithms.porter import Porter
from dpdl.algorithms.qg_momentum import QGMomentum
from dpdl.errors import InputError, unknown
from dpdl.objects import cause
from dpdl.options import Value, is_option

NOT_PRIVATE: Mapping[str, str] = {"noise": "none", "clip_unit": "none"}
"""What the name of a non-private original stands for."""
MNIST = frozenset({"mnist", "fashion-mnist"})


@dataclass(frozen=True)
class Tuned:
    """Defaults that a search has found for an algorithm, and where they hold."""

    values: Mapping[str, Value]
    datasets: frozenset[str]
    graph: str | None = None  # None: any
    rule: str | None = None  # the noise rule, which sets sigma; None: any

    def holds(self, dataset: str, graph: str, rule: str) -> bool:
        """Whether they are the defaults in this setting."""
        here = self.graph in (None, graph) and self.rule in (None, rule)
        return here and dataset in self.datasets

    def __str__(self) -> str:
        """Where they hold."""
        on = f", on a {self.graph}" if self.graph else ""
        by = f" with noise {self.rule}" if self.rule else ""
        return f"{' and '.join(sorted(self.datasets, reverse=True))}{on}{by}"


@dataclass(frozen=True)
class Named:
    """An algorithm that has a name.

    Where `tuned` values hold, they replace the defaults of the fields. `fixed` are the values of
    shared options that the name stands for.
    """

    kind: type[Algorithm]
    about: str
    tuned: tuple[Tuned, ...] = ()
    fixed: Mapping[str, str] = field(default_factory=dict)

    @property
    def fields(self) -> dict[str, Field[Value]]:
        """The fields of the class that an experiment can set."""
        found = fields(self.kind)  # type: ignore[arg-type]
        return {f.name: f for f in found if is_option(f)}

    def tuned_for(self, dataset: str, graph: str, rule: str) -> dict[str, Value]:
        """The tuned defaults of a setting."""
        found: dict[str, Value] = {}
        for one in self.tuned:
            if one.holds(dataset, graph, rule):
                found |= one.values
        return found


def step(lr: float, graph: str | None = None, rule: str | None = None) -> Tuned:
    """A step size on MNIST: the best of a search by `dpdl tune`.

    All were found on a ring of 10 agents, with 150 rounds at a proven epsilon of 4. A step of DPDL
    grows with the number of neighbours, so the step sizes of DPDL hold on a ring only.
    """
    return Tuned({"lr": lr}, MNIST, graph, rule)


NAMES = {
    "dpdl": Named(
        DPDL,
        "Algorithm 1 of the paper, literally",
        (step(0.2, "ring", "accountant"),),
    ),
    "dpdl-sound": Named(
        SoundDPDL,
        "the same with the perturbed self-gradient",
        (step(0.25, "ring", "accountant"),),
    ),
    "dp-dpsgd": Named(
        DPSGD, "mix the models, step along the own gradient", (step(1.5),)
    ),
    "muffliato": Named(
        Muffliato, "step along the own gradient, then accelerated gossip", (step(1.3),)
    ),
    "dp-netfleet": Named(NetFleet, "gradient tracking with local steps", (step(0.5),)),
    "dp-cga": Named(
        CGA,
        "cross-gradients, combined so that no neighbour is stepped against",
        (step(0.75),),
    ),
    "decor": Named(Decor, "dp-dpsgd with noise that cancels between neighbours"),
    "concord": Named(
        Concord, "noise that cancels between pairs, and exact agreement on the gradient"
    ),
    "corn-dsgd": Named(
        CorNDSGD, "noise that cancels between any two agents, shaped for the graph"
    ),
    "dp-dmsgd": Named(
        DMSGD, "DPDL with the own gradient instead of the calibrated ones"
    ),
    "d-psgd": Named(DPSGD, "dp-dpsgd without clipping and noise", fixed=NOT_PRIVATE),
    "dmsgd": Named(DMSGD, "dp-dmsgd without clipping and noise", fixed=NOT_PRIVATE),
    "net-fleet": Named(
        NetFleet, "dp-netfleet without clipping and noise", fixed=NOT_PRIVATE
    ),
    "cga": Named(CGA, "dp-cga without clipping and noise", fixed=NOT_PRIVATE),
    "qg-momentum": Named(QGMomentum, "momentum that follows the mixed models"),
    "gradient-tracking": Named(
        GradientTracking, "step along an estimate of the average gradient"
    ),
    "momentum-tracking": Named(MomentumTracking, "gradient tracking of momenta"),
    "ngm": Named(NGM, "mean of gradients over neighbours' models and neighbours' data"),
    "gut": Named(GUT, "D-PSGD with global update tracking: one row per neighbour"),
    "pdsl": Named(
        PDSL, "cross-gradients weighted by their Shapley value on public records"
    ),
    "dfedsam": Named(DFedSAM, "local sharpness-aware steps, then gossip"),
    "async-dpsgd": Named(
        AsyncDPSGD, "one random agent a round, averaging with one neighbour"
    ),
    "exact-diffusion": Named(
        ExactDiffusion, "D-PSGD that takes the step before back: exact diffusion, D^2"
    ),
    "epidemic": Named(
        Epidemic, "step, then averaging with neighbours drawn anew in every round"
    ),
    "porter": Named(Porter, "gradient tracking that sends signs of differences"),
    "dp-admm": Named(ADMM, "linearised ADMM: a primal and a dual step a round"),
}


def named(name: str) -> Named:
    """The algorithm of a name: ours, one that an installed package offers, or `module:Class`."""
    if name in NAMES:
        return NAMES[name]
    if not outside.is_outside(name):
        raise unknown("algorithm", name, names(), also="or your own as module:Class")
    kind = outside.load(name)
    return Named(kind, (kind.__doc__ or name).strip().splitlines()[0])


def names() -> list[str]:
    """All names, in alphabetical order; those of other packages are not imported for it."""
    return sorted({*NAMES, *outside.offered()})


def usable() -> list[str]:
    """The names whose classes can be imported; this imports all of them."""
    return sorted({*NAMES, *(name for name, _ in outside.importable())})


def name_of(kind: type) -> str:
    """The name that stands for a class and fixes nothing else; `module:Class` if there is none."""
    for name, entry in NAMES.items():
        if entry.kind is kind and not entry.fixed:
            return name
    return outside.name_of(kind)


def make(name: str, values: Mapping[str, Value]) -> Algorithm:
    """The algorithm of a name, with the values of an experiment for its fields.

    A field without a value has its default. Values that are not fields are ignored, except
    `compress`: unless it is "none", replies leave as signs.
    """
    kind: Callable[..., Algorithm] = named(name).kind
    known = {f.name for f in fields(kind) if f.init}  # type: ignore[arg-type]
    given = {field: value for field, value in values.items() if field in known}
    try:
        algorithm = kind(**given)
    except (TypeError, ValueError) as failure:
        raise InputError(f"{name} refuses its options: {cause(failure)}.") from failure
    if values.get("compress", "none") == "none":
        return algorithm
    return Compressed(algorithm)


__all__ = [
    "ADMM",
    "CGA",
    "DMSGD",
    "DPDL",
    "DPSGD",
    "GUT",
    "NAMES",
    "NGM",
    "PDSL",
    "Algorithm",
    "AsyncDPSGD",
    "Calibration",
    "Concord",
    "CorNDSGD",
    "DFedSAM",
    "Decor",
    "Epidemic",
    "ExactDiffusion",
    "GradientTracking",
    "Info",
    "LinkNoise",
    "MomentumTracking",
    "Muffliato",
    "Named",
    "NetFleet",
    "Porter",
    "QGMomentum",
    "SoundDPDL",
    "State",
    "StepShown",
    "Tuned",
    "make",
    "name_of",
    "named",
    "names",
    "usable",
]
