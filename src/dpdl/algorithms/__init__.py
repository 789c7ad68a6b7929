"""The algorithms, one file each. To add one: write its file, then add its line here."""

from __future__ import annotations

from dataclasses import dataclass

from dpdl.algorithms.base import Algorithm, Info, State
from dpdl.algorithms.dpdl import DPDL, SoundDPDL


@dataclass(frozen=True)
class Named:
    """An algorithm that can be asked for by name."""

    kind: type[Algorithm]
    about: str


NAMES = {
    "dpdl": Named(DPDL, "Algorithm 1 of the paper, literally"),
    "dpdl-sound": Named(SoundDPDL, "the same with the perturbed self-gradient"),
}

__all__ = ["DPDL", "NAMES", "Algorithm", "Info", "Named", "SoundDPDL", "State"]
