"""The names an experiment may use, found without importing torch: help must not wait for it."""

from __future__ import annotations

from dpdl.privacy.relations import CHANGES


def datasets() -> list[str]:
    """Data sets that have a name; a test holds them to `dpdl.tasks.data`."""
    return ["cifar10", "digits", "fashion-mnist", "mnist"]


def models() -> list[str]:
    """Models that have a name; a test holds them to `dpdl.tasks.models`."""
    on_features = "patch-linear", "scatter-cnn", "scatter-linear"
    return ["cnn", "deep-patch-linear", "lenet", "mlp", *on_features]


def losses() -> list[str]:
    """Losses that have a name; a test holds them to `dpdl.tasks.losses`."""
    return ["binary-cross-entropy", "cross-entropy", "squared-error"]


def scores() -> list[str]:
    """Scores that have a name; a test holds them to `dpdl.tasks.scores`."""
    return ["accuracy", "label-accuracy", "squared-error"]


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
