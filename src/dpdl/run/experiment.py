"""What is run: one frozen description, the same in Python, in a TOML file, on the command line and in a run folder."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from dpdl import algorithms
from dpdl.errors import InputError, unknown
from dpdl.privacy.threats import threat
from dpdl.run import names
from dpdl.run.options import (
    ABOVE_ZERO,
    AT_LEAST_ONE,
    AT_LEAST_ZERO,
    DECAY,
    DELTA,
    MOMENTUM,
    SEED,
    SHARE,
    checked,
    option,
)
from dpdl.run.presets import PRESETS, defaults_for


@dataclass(frozen=True)
class Experiment:
    """All choices of one training run. `None` means: the usual value for this data set and graph (see `resolved`)."""

    dataset: str = option("mnist", "data set", names=names.datasets, also="PATH.npz or module:function")
    model: str | None = option(None, "model", names=names.models, also="or module:Class")
    graph: str = option("ring", "graph", names=names.graphs, also="or a file with edges or an adjacency matrix")
    agents: int = option(10, "number of agents N", check=AT_LEAST_ONE)
    weights: str = option("metropolis", "mixing weights W", names=names.weights)
    partition: str = option("dirichlet-class", "how the records are given to agents", names=names.partitions)
    alpha_d: float = option(0.25, "Dirichlet concentration; smaller is less alike", check=ABOVE_ZERO)
    records: str | None = option(
        None,
        "number of records that agents declare, one for all or one for each, with commas, or 'exact'; rate, noise and "
        "epsilon depend on it alone [the true number cut to two digits]",
    )
    classes_per_agent: int = option(2, "classes per agent for the partition 'shards'", check=AT_LEAST_ONE)
    algorithm: str = option("dpdl", "algorithm", names=names.algorithms)
    rounds: int = option(200, "rounds T", check=AT_LEAST_ONE)
    batch: int | None = option(None, "expected batch size B of every agent", check=AT_LEAST_ONE)
    sampling: str = option("poisson", "how batches are drawn", names=lambda: ["fixed", "poisson"])
    lr: float | None = option(None, "step size eta", check=ABOVE_ZERO)
    lr_decay: float = option(1.0, "factor on the step size", check=DECAY)
    lr_decay_every: int = option(30, "rounds between two such factors", check=AT_LEAST_ONE)
    weight_decay: float = option(0.0, "weight decay", check=AT_LEAST_ZERO)
    momentum: float | None = option(None, "momentum beta", check=MOMENTUM, some=True)
    alpha: float | None = option(None, "calibration weight alpha of DPDL", check=AT_LEAST_ZERO, some=True)
    cosine: str = option(
        "vector", "cosine of DPDL over the whole vector or per tensor", names=lambda: ["tensor", "vector"], some=True
    )
    correlation: float = option(
        3.0, "noise that cancels on a link of DECOR, over the agent's own", check=AT_LEAST_ZERO, some=True
    )
    local_steps: int = option(1, "rounds tau from one exchange to the next", check=AT_LEAST_ONE, some=True)
    gossip_steps: int | None = option(None, "gossip steps K of a round of muffliato", check=AT_LEAST_ONE, some=True)
    margin: float | None = option(None, "least multiplier of a gradient in CGA", check=AT_LEAST_ZERO, some=True)
    qp: str = option(
        "vector", "CGA's problem over the whole vector or per tensor", names=lambda: ["tensor", "vector"], some=True
    )
    data_share: float = option(0.5, "share a of gradients on the neighbours' data in NGM", check=SHARE, some=True)
    tracking: float | None = option(None, "mu of quasi-global momentum and of GUT", check=SHARE, some=True)
    sam_radius: float = option(0.01, "radius rho of the ascent step of DFedSAM", check=ABOVE_ZERO, some=True)
    permutations: int = option(8, "orders of the neighbours that PDSL tries", check=AT_LEAST_ONE, some=True)
    validation: int = option(0, "public records held out for PDSL", check=SEED, some=True)
    compress: str = option("none", "compression of cross-gradients", names=lambda: ["none", "sign"])
    clip: float | None = option(None, "clipping norm C", check=ABOVE_ZERO)
    clip_unit: str = option("sample", "what is clipped to C", names=lambda: ["batch", "chunks", "none", "sample"])
    chunks: int = option(4, "number of chunks for the clip unit 'chunks'", check=AT_LEAST_ONE)
    noise: str = option("accountant", "rule that sets the noise multiplier sigma", names=names.noises)
    noise_split: str = option(
        "equal",
        "'calibrated' gives dpdl-sound less noise where the update weighs it more",
        names=lambda: ["calibrated", "equal"],
    )
    sigma: float | None = option(None, "fixed noise multiplier, instead of a rule", check=ABOVE_ZERO)
    epsilon: float | None = option(None, "privacy budget epsilon that the rule aims at", check=ABOVE_ZERO)
    delta: float = option(1e-5, "delta", check=DELTA)
    threat: str = option("eavesdropper", "who listens", names=names.threats, also="where K is a number of neighbours")
    relation: str = option("add-remove", "what one record more or less means", names=names.relations)
    budget: str | None = option(None, "epsilon that no agent may exceed, or one for each agent, with commas")
    c2: float = option(1.0, "constant c_2 of Theorem 1", check=ABOVE_ZERO)
    h: float = option(1.0, "constant h of Theorem 1", check=ABOVE_ZERO)
    randomness: str = option(
        "reproducible",
        "'secure' keys batches and noise by the operating system",
        names=lambda: ["reproducible", "secure"],
    )
    dtype: str = option("float32", "number type of models", names=lambda: ["float32", "float64"])
    seed: int = option(0, "seed", check=SEED)
    average: float = option(0.0, "share of the rounds, the last ones, whose models are averaged", check=SHARE)
    eval_every: int = option(20, "rounds between two evaluations", check=AT_LEAST_ONE)
    checkpoint_every: int = option(20, "rounds between two checkpoints", check=AT_LEAST_ONE)

    def __post_init__(self) -> None:
        for f in fields(self):
            object.__setattr__(self, f.name, checked(f, getattr(self, f.name)))
        threat(self.threat)
        if self.noise == "none" and self.sigma is not None:
            raise InputError("noise 'none' and a fixed sigma exclude each other; give one of them.")

    def resolved(self) -> Experiment:
        """The same experiment with every `None` replaced by the usual value."""
        algorithm = algorithms.named(self.algorithm)
        asked = {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != f.default}
        for name in asked:
            if name in SOME and name not in algorithm.options:
                raise InputError(f"{name} is not an option of {self.algorithm}.")
        for name, value in algorithm.fixed.items():
            if asked.get(name, value) != value or (name == "noise" and self.sigma is not None):
                raise InputError(f"{self.algorithm} stands for {name} {value!r}; nothing else can be asked for.")
        e = replace(self, **algorithm.fixed)
        if e.sampling == "fixed" and (e.noise != "accountant" or e.sigma is not None):
            e = replace(e, relation="replace-one")  # what is accounted for; the accountant's own sigma must ask for it
        usual = {**defaults_for(e.dataset, e.graph, e.noise, e.algorithm), **algorithm.usual}
        missing = {
            name for name in usual if getattr(e, name) is None and (name not in SOME or name in algorithm.options)
        }
        return replace(e, **{name: usual[name] for name in missing})

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)


SOME = {f.name for f in fields(Experiment) if f.metadata["some"]}
"""The options that only some algorithms have."""


def from_mapping(values: Mapping[str, Any]) -> Experiment:
    """An experiment from plain values; an unknown name is refused with the nearest ones."""
    known = {f.name for f in fields(Experiment)}
    for name in values:
        if name not in known:
            raise unknown("option", name, known)
    return Experiment(**values)


def load(file: Path | None, preset: str | None, overrides: Mapping[str, Any]) -> Experiment:
    """Defaults, then the preset, then the TOML file, then the command line: the later one wins."""
    written = read_toml(file) if file else {}
    preset = preset or written.pop("preset", None)
    written.pop("preset", None)
    if preset is not None and preset not in PRESETS:
        raise unknown("preset", str(preset), PRESETS)
    chosen = {**written, **overrides}
    return from_mapping({**_of_preset(preset, chosen), **chosen})


def _of_preset(preset: str | None, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a preset, without those that only other algorithms have."""
    has = algorithms.named(str(chosen.get("algorithm", Experiment.algorithm))).options
    return {k: v for k, v in PRESETS.get(preset or "", {}).items() if k in has or k not in SOME}


def read_toml(file: Path) -> dict[str, Any]:
    """The options written in a TOML file."""
    try:
        return tomllib.loads(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as failure:
        reason = failure.strerror if isinstance(failure, OSError) else "not a text file"
        raise InputError(f"Experiment file {str(file)!r} cannot be read: {reason}.") from failure
    except tomllib.TOMLDecodeError as failure:
        raise InputError(f"Experiment file {str(file)!r} is not valid TOML: {failure}.") from failure
