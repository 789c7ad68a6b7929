"""The algorithms, one file each. To add one: write its file, then add its line here.

A package of your own adds one without a line here: an entry point of the group `dpdl.algorithms` names its class.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from importlib.metadata import entry_points
from typing import Any

from dpdl.algorithms.async_dpsgd import AsyncDPSGD
from dpdl.algorithms.base import Algorithm, Info, State
from dpdl.algorithms.cga import CGA
from dpdl.algorithms.decor import Decor
from dpdl.algorithms.dfedsam import DFedSAM
from dpdl.algorithms.dpdl import DPDL, SoundDPDL
from dpdl.algorithms.dpsgd import DMSGD, DPSGD
from dpdl.algorithms.gradient_tracking import GradientTracking
from dpdl.algorithms.gut import GUT
from dpdl.algorithms.momentum_tracking import MomentumTracking
from dpdl.algorithms.muffliato import Muffliato
from dpdl.algorithms.netfleet import NetFleet
from dpdl.algorithms.ngm import NGM
from dpdl.algorithms.pdsl import PDSL
from dpdl.algorithms.qg_momentum import QGMomentum
from dpdl.errors import unknown

ENTRY_POINTS = "dpdl.algorithms"
NOT_PRIVATE = {"noise": "none", "clip_unit": "none"}
"""What the name of a non-private original stands for."""


@dataclass(frozen=True)
class Named:
    """An algorithm that can be asked for by name."""

    kind: type[Algorithm]
    about: str
    usual: Mapping[str, Any] = field(default_factory=dict)  # values of options that are not given
    fixed: Mapping[str, Any] = field(default_factory=dict)  # values of options that the name stands for

    @property
    def options(self) -> set[str]:
        """The names of its hyper-parameters."""
        return {f.name for f in fields(self.kind)}  # type: ignore[arg-type]


NAMES = {
    "dpdl": Named(DPDL, "Algorithm 1 of the paper, literally"),
    "dpdl-sound": Named(SoundDPDL, "the same with the perturbed self-gradient"),
    "dp-dpsgd": Named(DPSGD, "mix the models, step along the own gradient", {"momentum": 0.0}),
    "muffliato": Named(Muffliato, "step along the own gradient, then accelerated gossip"),
    "dp-netfleet": Named(NetFleet, "gradient tracking with local steps"),
    "dp-cga": Named(CGA, "cross-gradients, combined so that no neighbour is stepped against", {"margin": 0.5}),
    "decor": Named(Decor, "dp-dpsgd with noise that cancels between neighbours", {"momentum": 0.0}),
    "dp-dmsgd": Named(DMSGD, "DPDL with the own gradient instead of the calibrated ones"),
    "d-psgd": Named(DPSGD, "dp-dpsgd without clipping and noise", {"momentum": 0.0}, NOT_PRIVATE),
    "dmsgd": Named(DMSGD, "dp-dmsgd without clipping and noise", {}, NOT_PRIVATE),
    "net-fleet": Named(NetFleet, "dp-netfleet without clipping and noise", {}, NOT_PRIVATE),
    "cga": Named(CGA, "dp-cga without clipping and noise", {"margin": 0.5}, NOT_PRIVATE),
    "qg-momentum": Named(QGMomentum, "momentum that follows the mixed models", {"momentum": 0.9, "tracking": 0.9}),
    "gradient-tracking": Named(GradientTracking, "step along an estimate of the average gradient"),
    "momentum-tracking": Named(MomentumTracking, "gradient tracking of momenta"),
    "ngm": Named(NGM, "mean of gradients over neighbours' models and neighbours' data"),
    "gut": Named(GUT, "D-PSGD with global update tracking: one row per neighbour", {"tracking": 0.1}),
    "pdsl": Named(PDSL, "cross-gradients weighted by their Shapley value on public records"),
    "dfedsam": Named(DFedSAM, "local sharpness-aware steps, then gossip"),
    "async-dpsgd": Named(AsyncDPSGD, "one random agent a round, averaging with one neighbour"),
}


def named(name: str) -> Named:
    """The algorithm of a name: ours, or one that an installed package offers."""
    if name in NAMES:
        return NAMES[name]
    if name not in _offered():
        raise unknown("algorithm", name, names())
    kind: type[Algorithm] = _offered()[name].load()
    return Named(kind, (kind.__doc__ or name).strip().splitlines()[0])


def names() -> list[str]:
    """All names, in alphabetical order."""
    return sorted({*NAMES, *_offered()})


@cache
def _offered() -> dict[str, Any]:
    return {point.name: point for point in entry_points(group=ENTRY_POINTS)}


__all__ = [
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
    "DFedSAM",
    "Decor",
    "GradientTracking",
    "Info",
    "MomentumTracking",
    "Muffliato",
    "Named",
    "NetFleet",
    "QGMomentum",
    "SoundDPDL",
    "State",
    "named",
    "names",
]
