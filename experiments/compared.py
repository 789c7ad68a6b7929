"""What docs/cross-gradients.md compares: settings, algorithms, data and models, and one run.

Algorithms share one proven epsilon: the accountant finds sigma for a batch that answers once in a
round, and a batch that answers m models has sqrt(m) times that noise, which is the same effective
sigma. Steps are powers of two in units of the length of a step, so that one power means nearly the
same for all of them. The records that a run is tested on are held-out training records, which
choose the step; the test records are kept apart, for `outcome`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache, partial

import torch
from blind import SELF, Blind
from torch import nn

import dpdl
from dpdl.algorithms import CGA, DMSGD, DPSGD, Muffliato, SoundDPDL
from dpdl.errors import Diverged
from dpdl.folder.calibration_study import SORTED, StudySeed, StudySetting
from dpdl.keys import generator
from dpdl.planning.plan import plan
from dpdl.tasks import data as datasets

CLIP, ALPHA, BETA, ROUNDS = 1.0, 1.5, 0.7, 40
ALGORITHMS = {
    "dp-dmsgd": DMSGD,
    "dp-dpsgd": DPSGD,
    "dpdl-sound": SoundDPDL,
    "blind": Blind,
    "dp-cga": CGA,
    "muffliato": Muffliato,
}
CROSS = ("dpdl-sound", "blind", "dp-cga")
BATCH = {"digits-linear": 16, "digits-mlp": 16, "digits-cnn": 16, "mnist-cnn": 32}
"""128 for the others."""
GOSSIP = 3
"""Muffliato sends as many rows as DPDL: three to every neighbour in a round."""


def settings() -> list[StudySetting]:
    """All of them, cheap ones first, and otherwise in a random order."""
    few = [("complete", 3), ("ring", 5), ("ring", 10), ("complete", 10)]
    many = [*few, ("complete", 5), ("ring", 20), ("complete", 20)]
    divisions = (0.05, SORTED, 10.0)
    grids = [
        (("digits-linear", "digits-mlp"), few, divisions, (2.0, 32.0, None)),
        (("mnist-linear",), few, divisions, (0.5, 2.0, 8.0, 32.0, None)),
        (("digits-cnn",), few, divisions, (2.0, 32.0, None)),
        (("mnist-mlp",), few, divisions, (0.5, 8.0, 64.0, None)),
        (("mnist-cnn",), few[1:3], divisions, (2.0, 32.0, None)),
        (("mnist-mlp",), many, (0.25,), (0.5, 2.0, 8.0, 64.0, None)),
    ]
    found = []
    for grid in grids:
        some = [
            StudySetting(task, *place, alpha, BATCH.get(task, 128), epsilon, ROUNDS)
            for task, place, alpha, epsilon in itertools.product(*grid)
        ]
        order = generator(0, "cross-gradients").permutation(len(some))
        found += [some[k] for k in order]
    return found


def algorithms(s: StudySetting) -> list[str]:
    """All; but DP-CGA where its problems are small, and more gossip where agents differ."""
    left_out = set()
    if s.graph == "complete":
        left_out = {"muffliato"} if s.agents <= 5 else {"muffliato", "dp-cga"}
    return [name for name in ALGORITHMS if name not in left_out]


# ------------------------------------------------------------------ data and models
@lru_cache
def records(name: str) -> tuple[dpdl.Dataset, torch.Tensor, torch.Tensor]:
    """Training and held-out records as a data set, and the test records apart from it."""
    whole = datasets.load(name)
    x, x_test = whole.x, whole.x_test
    order = torch.from_numpy(generator(0, "cross-gradients", name).permutation(len(x)))
    held, kept = (287, 1150) if name == "digits" else (2000, 24000)
    if name == "mnist":  # 14 x 14 pixels
        x, x_test = (nn.functional.avg_pool2d(one.float(), 2) for one in (x, x_test))
        x, x_test = (one.round().to(torch.uint8) for one in (x, x_test))
    hold, keep = order[:held], order[held : held + kept]
    data = replace(
        whole, x=x[keep], y=whole.y[keep], x_test=x[hold], y_test=whole.y[hold]
    )
    return data, x_test[:2000], whole.y_test[:2000]


def linear(side: int) -> nn.Module:
    """One layer."""
    return nn.Sequential(nn.Flatten(), nn.Linear(side * side, 10))


def mlp(side: int) -> nn.Module:
    """One hidden layer of 32 units."""
    layers = nn.Linear(side * side, 32), nn.ReLU(), nn.Linear(32, 10)
    return nn.Sequential(nn.Flatten(), *layers)


def cnn(side: int) -> nn.Module:
    """Two small convolutions."""
    return nn.Sequential(
        *(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(16 * (side // 4) ** 2, 10)),
    )


MODELS = {"linear": linear, "mlp": mlp, "cnn": cnn}


def given(s: StudySetting) -> dict[str, object]:
    """The data and the model of a setting."""
    dataset, kind = s.task.split("-")
    data, _, _ = records(dataset)
    return {"data": data, "model": partial(MODELS[kind], data.shape[-1])}


# ------------------------------------------------------------------ the experiment
def answers(s: StudySetting, algorithm: str) -> int:
    """How many models a batch answers for."""
    return asked(s) if algorithm in CROSS else 1


def asked(s: StudySetting) -> int:
    """Neighbours of an agent, with itself."""
    return 3 if s.graph == "ring" else s.agents


@lru_cache(maxsize=1)
def single(s: StudySetting) -> float:
    """The sigma that the accountant gives to one answer a round."""
    if s.epsilon is None:
        return 0.0
    found = plan(experiment(s, "dp-dmsgd", 1.0, 0, {"epsilon": s.epsilon}), **given(s))
    return found.privacy.sigma


def length(algorithm: str, s: StudySetting) -> float:
    """How long a step is, in own gradients, when all gradients are equal and lr is 1."""
    m = asked(s)
    if algorithm == "dp-cga":
        return (1 + 0.5 * (m - 1)) / m
    if algorithm not in ("dpdl-sound", "blind"):
        return 1.0
    k = (SELF + (m - 1) / 2) / m
    return m * math.sqrt(m) / s.agents + ALPHA * k


def experiment(
    s: StudySetting,
    algorithm: str,
    step: float,
    seed: int,
    noise: Mapping[str, object] | None = None,
) -> dpdl.Experiment:
    """One run; `step` is in units of `length`, `noise` instead of that of the setting."""
    kind, lr = ALGORITHMS[algorithm], step / length(algorithm, s)
    weight = {"momentum": BETA}
    if algorithm == "muffliato":
        weight = {"gossip_steps": GOSSIP}
    if algorithm in ("dpdl-sound", "blind"):
        weight["alpha"] = ALPHA
    if s.alpha_d == SORTED:
        few = math.ceil(10 / s.agents)
        division = {"partition": "shards", "classes_per_agent": few}
    else:
        division = {"partition": "dirichlet-agent", "alpha_d": s.alpha_d}
    if noise is None:
        sigma = single(s) * math.sqrt(answers(s, algorithm))
        noise = {"sigma": sigma} if sigma else {"noise": "none"}
    return dpdl.Experiment(
        dataset=s.task.split("-")[0],
        graph=s.graph,
        agents=s.agents,
        rounds=s.rounds,
        batch=s.batch,
        clip=CLIP,
        seed=seed,
        eval_every=20,
        algorithm=kind(lr=lr, **weight),
        **division,
        **noise,
    )


# ------------------------------------------------------------------ one run
def ran(s: StudySetting, algorithm: str, power: int, seed: int) -> dpdl.Result | None:
    """Train; what it is tested on are the held-out records. None: it has diverged."""
    e = experiment(s, algorithm, 2.0**power, seed)
    try:
        return dpdl.train(e, **given(s), progress=False)
    except Diverged:
        return None


@torch.no_grad()
def outcome(
    s: StudySetting, algorithm: str, seed: int, r: dpdl.Result | None
) -> StudySeed:
    """The same run on the test records; one that has diverged got nothing right."""
    if r is None:
        return StudySeed(seed, 0.0, 0.0, None, None, None, None)
    data, x, y = records(s.task.split("-")[0])
    inputs = data.inputs(x, torch.float32)

    def score(module: nn.Module) -> float:
        return float((module(inputs).argmax(1) == y).double().mean())

    agents = [score(r.module(k)) for k in range(s.agents)]
    seen = {name: neighbours(r, name, own, s) for name, own in OWN.items()}
    return StudySeed(
        seed,
        round(sum(agents) / len(agents), 4),
        round(score(r.module()), 4),
        round(r.summary["sigma"], 5),
        proven(r),
        **(seen if algorithm == "dpdl-sound" else dict.fromkeys(OWN)),
    )


def proven(r: dpdl.Result) -> float | None:
    """The epsilon of a run with noise."""
    found = r.summary["epsilon"]["eavesdropper"]
    return round(found, 4) if isinstance(found, float | int) else None


OWN = {"cosine": 1.0, "coefficient": SELF}
"""What an agent's own answer has; means are over it and the neighbours."""


def neighbours(r: dpdl.Result, name: str, own: float, s: StudySetting) -> float | None:
    """The mean over neighbours alone, and over the evaluated rounds."""
    m = asked(s)
    found = [one.diagnostics.get(name) for one in r.metrics]
    values = [(m * v - own) / (m - 1) for v in found if v is not None]
    return round(sum(values) / len(values), 5) if values else None
