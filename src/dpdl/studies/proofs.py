"""`docs/proofs.md`: what is proven of every algorithm, against whom, and how.

`python -m dpdl.studies.proofs > docs/proofs.md` makes it from the code. It asks plans what they
allow, so it cannot be a page of `dpdl.pages`, which plans nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import NoReturn

from dpdl.algorithms import NAMES, Algorithm, named
from dpdl.errors import InputError
from dpdl.experiment.experiment import Experiment, from_mapping
from dpdl.graph import ring
from dpdl.planning.build import make_algorithm
from dpdl.planning.noise_rule import rule_of
from dpdl.planning.plan import plan
from dpdl.planning.privacy_model import PrivacyModel
from dpdl.privacy.accounting import Effect, epsilon
from dpdl.privacy.clip import PerSample
from dpdl.privacy.gradient import PrivateGradient
from dpdl.privacy.mechanism import Mechanism
from dpdl.privacy.noise import Secure
from dpdl.privacy.sampling import Poisson
from dpdl.privacy.threats import DEFAULT_THREATS, EAVESDROPPER, FINAL_MODEL, Threat
from dpdl.types import Model

COMMAND = "python -m dpdl.studies.proofs > docs/proofs.md"
COALITION = Threat("neighbours", 2)
Variant = Mapping[str, str | float]
VARIANTS: Mapping[str, Variant] = {
    '`dpdl` with `cosine = "tensor"`': {"algorithm": "dpdl", "cosine": "tensor"},
    "`ngm` with `data_share = 0`": {"algorithm": "ngm", "data_share": 0.0},
    'cross-gradients with `compress = "sign"`': {
        "algorithm": "dpdl-sound",
        "compress": "sign",
    },
}
ENOUGH = 5.0
"""A noise multiplier."""
MECHANISM = Mechanism(PerSample(1.0), Poisson(8, (100,) * 5), ENOUGH)
NOTHING = "nothing: no noise"
HEAD = (
    "| algorithm | channels | eavesdropper | neighbours:K | final-model | replace-one "
    "| secure |"
)
PAGE = """# What is proven, and how

One row for every algorithm that has a name. The page is made from the code, and a test holds it to
the code:

    {command}

[Privacy](privacy.md) says what the words mean, and each [algorithm's page](algorithms/index.md)
derives its bound.

- *channels*: what an agent sends. Those in bold carry a Gaussian release of their own; the others
  are computed from such releases, except where `dpdl` says otherwise.
- *computed from*: post-processing of these releases. sigma_eff is exact for them, and no listener
  can learn more. A listener that can solve for each of them learns no less.
- *on one draw*: all of them are about one batch, so a record took part in all or in none. They are
  one sampled release with a smaller noise multiplier, not several sampled ones.
- *counted as the eavesdropper*: nothing smaller is claimed for those who hear less.
- *replace-one*: whether a record that is replaced, instead of added or removed, is accounted for.
- *secure*: whether `--randomness secure` is allowed. Without it a run is a simulation, and
  protects nobody.

{table}

A bound needs `clip_unit = "sample"` and noise. Otherwise a result says `unbounded`. Some names
have options that change the proof:

{variants}

Nothing here is about several runs, about people with several records, or about what leaks beside
messages: [sharp edges](sharp-edges.md).
"""


def page() -> str:
    """The whole page."""
    rows: dict[str, Variant] = {f"`{name}`": {"algorithm": name} for name in NAMES}
    return PAGE.format(command=COMMAND, table=_table(rows), variants=_table(VARIANTS))


def _table(rows: Mapping[str, Variant]) -> str:
    lines = [HEAD, "|---" * (HEAD.count("|") - 1) + "|"]
    return "\n".join([*lines, *(_row(name, options) for name, options in rows.items())])


def _row(name: str, options: Variant) -> str:
    e = experiment_of(options)
    algorithm = make_algorithm(e)
    if rule_of(e) is None:
        cells = [*[NOTHING] * 3, "-", "-"]
    else:
        proofs = [
            algorithm.disclosure.proof(threat)
            for threat in (EAVESDROPPER, COALITION, FINAL_MODEL)
        ]
        cells = [*proofs, _replaced(algorithm), _secure(e)]
    return (
        f"| {name} | {_channels(algorithm)} | "
        f"{' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
    )


def experiment_of(options: Variant) -> Experiment:
    """A small experiment, with the options without which an algorithm is no example."""
    small = {"dataset": "digits", "agents": 5, "batch": 8}
    example = named(str(options["algorithm"])).kind.example
    return from_mapping({**small, **example, **options}).resolved()


def _channels(algorithm: Algorithm) -> str:
    model: Model = _Anything()
    grad = PrivateGradient(model, MECHANISM, Secure())
    return ", ".join(
        f"**{r.channel}**" if r.private else r.channel for r in algorithm.releases(grad)
    )


def _replaced(algorithm: Algorithm) -> str:
    """Whether replacing a record is accounted for.

    It is if, with enough noise, every listener has a finite exposure and the accountant a step.
    """
    relation, graph = "replace-one", ring(5)
    model = PrivacyModel(algorithm, graph, MECHANISM, 1, 1e-5, 10**9, relation)
    steps = [
        model.step(agent, threat) for agent in range(5) for threat in DEFAULT_THREATS
    ]
    if not all(step.sigma > 0 for step in steps):
        return "no"
    plain = MECHANISM.step(0, Effect(0.5))
    if not math.isfinite(epsilon([(plain, 1)], 1e-5, relation)):
        return "no"
    return "as one removed and one added" if algorithm.disclosure.adaptive else "yes"


def _secure(e: Experiment) -> str:
    """Whether a plan with secure randomness is made, or why not."""
    try:
        plan(replace(e, randomness="secure", sigma=ENOUGH))
    except InputError as refused:
        return f"no: {str(refused).partition(': ')[2].rstrip('.')}"
    return "yes"


class _Anything:
    """Stands in for the model: the channels of an algorithm do not depend on it."""

    def __getattr__(self, name: str) -> NoReturn:
        raise AssertionError(
            f"The channels must not depend on the model, but {name} was read."
        )


if __name__ == "__main__":
    print(page(), end="")
