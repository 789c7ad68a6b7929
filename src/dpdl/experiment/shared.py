"""The options that every experiment has, whatever its algorithm."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, dataclass, fields

from dpdl.experiment import names
from dpdl.options import (
    ABOVE_ZERO,
    AT_LEAST_ONE,
    RATE,
    SEED,
    SHARE,
    Range,
    Value,
    option,
)
from dpdl.privacy.limits import DELTA


@dataclass(frozen=True)
class Shared:
    """The shared options; None stands for the default of this data set and noise rule."""

    dataset: str = option(
        "mnist",
        "data set",
        names=names.datasets,
        also="PATH.npz, PATH.csv or module:function",
    )
    sites: tuple[str, ...] | None = option(
        None,
        "the records of every agent in a place of its own, PATH.npz, PATH.csv or module:function, "
        "in the order of the agents, instead of one data set that is divided",
    )
    shape: str | None = option(
        None,
        "shape of a record at sites, such as 30 or 1,28,28; without it, records look "
        "like those of the data set",
    )
    scaling: str | None = option(
        None,
        "how pixels at sites become numbers: 'pixels' for x/255, or MEAN/STD for "
        "(x/255 - MEAN)/STD, with commas for one of each channel; without it, records "
        "of a given shape are floating numbers and stay as they are",
    )
    test: str | None = option(
        None,
        "public test records for all sites, PATH.npz with x and y; without it, every "
        "site tests on records of its own",
    )
    predict: str | None = option(
        None,
        "what is predicted of your own records: classes, labels or numbers, or how many "
        "of them, such as '3 classes'; without it, classes",
    )
    loss: str | None = option(
        None, "loss", names=names.losses, also="or module:function", by="predict"
    )
    score: str | None = option(
        None,
        "what models are tested by",
        names=names.scores,
        also="or module:function",
        by="predict",
    )
    model: str | None = option(
        None,
        "model; scatter models are small ones on fixed wavelet features, patch models on "
        "answers to fixed patches; a class of your own is called without arguments",
        names=names.models,
        also="or module:Class",
        by="data set",
    )
    centre: str | None = option(
        None,
        "'private': features are taken from their mean, which is released once, with noise, "
        "before the first round; for models that are linear in fixed features",
        names=("private",),
    )
    centre_noise: float | None = option(
        None,
        "noise multiplier of that release, as the accountant counts it; an agent adds as much "
        "as that takes",
        check=ABOVE_ZERO,
        by="centre",
    )
    graph: str = option(
        "ring",
        "graph",
        names=names.graphs,
        also="or a file with edges or an adjacency matrix",
    )
    agents: int = option(10, "number of agents N", check=AT_LEAST_ONE)
    weights: str = option(
        "metropolis",
        "rule for the mixing weights W; 'given' takes those of a file",
        names=names.weights,
    )
    partition: str = option(
        "dirichlet-class", "how the records are given to agents", names=names.partitions
    )
    alpha_d: float = option(
        0.25,
        "concentration of the Dirichlet partitions; a smaller one makes agents less "
        "alike",
        check=ABOVE_ZERO,
    )
    records: str | None = option(
        None,
        "number of records that agents declare, one for all or one for each, with "
        "commas, or 'exact'; rate, noise and epsilon depend on it alone; without it, "
        "the true numbers cut to two digits",
    )
    classes_per_agent: int = option(
        2, "classes per agent for the partition 'shards'", check=AT_LEAST_ONE
    )
    algorithm: str = option(
        "dpdl", "algorithm", names=names.algorithms, also="or module:Class"
    )
    rounds: int = option(200, "rounds T", check=AT_LEAST_ONE)
    batch: int | None = option(
        None,
        "expected batch size B of every agent, who gets at least so many records",
        check=AT_LEAST_ONE,
        search=Range(16, 512, log=True),
        by="data set",
    )
    rate: float | None = option(
        None,
        "share of the declared records of every agent that is expected in a batch, instead "
        "of one size for all; B is then so much of the mean of the declared numbers",
        check=RATE,
        search=Range(0.01, 0.5, log=True),
    )
    sampling: str = option(
        "poisson",
        "how batches are drawn; 'poisson': every record takes part with probability "
        "B / D_i, with D_i as declared; 'fixed': exactly B records",
        names=("fixed", "poisson"),
    )
    compress: str = option(
        "none",
        "compression of cross-gradients; 'sign': they travel as signs, with error "
        "feedback",
        names=("none", "sign"),
    )
    clip: float | None = option(
        None,
        "clipping norm C",
        check=ABOVE_ZERO,
        search=Range(0.1, 10, log=True),
        by="data set",
    )
    clip_unit: str = option(
        "sample",
        "what is clipped to C: every sample, the mean of a batch, of chunks of it, or "
        "none",
        names=("batch", "chunks", "none", "sample"),
    )
    chunks: int = option(
        4, "number of chunks for the clip unit 'chunks'", check=AT_LEAST_ONE
    )
    noise: str = option(
        "accountant",
        "rule that sets the noise multiplier sigma; 'accountant' takes the least that "
        "proves epsilon against the threat; 'theorem1' and 'public-code' are the "
        "paper's and its code's, which prove less than they say",
        names=names.noises,
    )
    sigma: float | None = option(
        None, "fixed noise multiplier, instead of a rule", check=ABOVE_ZERO
    )
    epsilon: float | None = option(
        None,
        "privacy budget epsilon that the rule aims at",
        check=ABOVE_ZERO,
        by="noise rule",
    )
    delta: float = option(
        1e-5, "delta; keep it well below 1 / (records of an agent)", check=DELTA
    )
    threat: str = option(
        "eavesdropper",
        "who listens; noise and budget are made for it",
        names=names.threats,
        also="where K is a number of neighbours",
    )
    relation: str = option(
        "add-remove",
        "what one record more or less means; sampling 'fixed' needs 'replace-one' "
        "under the accountant",
        names=names.relations,
    )
    budget: str | None = option(
        None,
        "epsilon that no agent may exceed, or one for each agent, with commas, each as "
        "E or E:D with a delta D of its own; the run stops before it would",
    )
    c2: float = option(
        1.0,
        "constant c_2 of Theorem 1, which the paper does not give",
        check=ABOVE_ZERO,
    )
    h: float = option(
        1.0,
        "constant h of Theorem 1; 1 is its smallest possible value, so the least noise",
        check=ABOVE_ZERO,
    )
    randomness: str = option(
        "reproducible",
        "where batches and noise are from: the seed, or 'secure': the operating system",
        names=("reproducible", "secure"),
    )
    dtype: str = option(
        "float32", "number type of models", names=("float32", "float64")
    )
    seed: int = option(0, "seed of everything that is reproducible", check=SEED)
    average: float = option(
        0.0,
        "share of the rounds, the last ones, whose models are averaged: the mean is "
        "what is tested and given back",
        check=SHARE,
    )
    eval_every: int = option(
        20,
        "rounds between two evaluations; the first and the last round are always "
        "evaluated",
        check=AT_LEAST_ONE,
    )
    checkpoint_every: int = option(
        20, "rounds between two checkpoints", check=AT_LEAST_ONE
    )
    stop_after_stalled: int | None = option(
        None,
        "end the run when the mean training loss, which is not private, has not fallen "
        "in so many evaluations",
        check=AT_LEAST_ONE,
    )


SHARED: Mapping[str, Field[Value]] = {f.name: f for f in fields(Shared)}
"""The shared options by name."""
LATER = (
    "sites",
    "shape",
    "scaling",
    "test",
    "predict",
    "loss",
    "score",
    "stop_after_stalled",
    "rate",
    "centre",
    "centre_noise",
)
"""Options that are written only where they are set, so that other files look as they always did."""
