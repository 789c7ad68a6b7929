"""The names an experiment may use, looked up when asked for, so that `dpdl --help` need not import torch."""

from __future__ import annotations

from dpdl.privacy.relations import CHANGES


def datasets() -> list[str]:
    """Data sets that can be fetched."""
    from dpdl.tasks import data

    return sorted(data.NAMES)


def models() -> list[str]:
    """Models."""
    from dpdl.tasks import models

    return sorted(models.NAMES)


def graphs() -> list[str]:
    """Graphs."""
    from dpdl import graph

    return sorted(graph.GRAPHS)


def weights() -> list[str]:
    """Rules for the mixing weights."""
    from dpdl import graph

    return sorted(graph.WEIGHTS)


def partitions() -> list[str]:
    """Rules that give records to agents."""
    from dpdl.tasks import partition

    return sorted(partition.RULES)


def algorithms() -> list[str]:
    """Algorithms."""
    from dpdl import algorithms

    return algorithms.names()


def noises() -> list[str]:
    """Rules that set sigma."""
    return ["accountant", "none", "public-code", "theorem1"]


def threats() -> list[str]:
    """Threat models."""
    return ["eavesdropper", "final-model", "neighbours:K"]


def relations() -> list[str]:
    """Neighbouring relations."""
    return sorted(CHANGES)
