"""Theorem 2 and Corollary 1 of the DPDL paper, evaluated exactly as they are stated there.

With F(x_0) - F* written as gap, a = 1 - beta and s = 1 - sqrt(rho), the theorem says: when

    eta >  a^2 / 256
    eta <= a (1 - rho) / (2 sqrt(30) L)
    eta <= s (sqrt(256^2 + 15 a^2 L^2 N^2) - 256 s) / (30 L^2 N)

the mean over T rounds of E |grad F(x_bar)|^2 is at most the sum of the seven terms in `bound`. They
divide by C_1 = eta / (2 a) - a / 32, which is positive only for eta > a^2 / 16. That is sixteen
times the limit of the first condition, so it is checked on its own. The statement differs from its
proof in several places; `docs/theory.md` lists them. Units: the bound is a squared gradient norm,
sigma is the noise multiplier (noise of standard deviation sigma C on a sum of clipped gradients).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import final

from dpdl.errors import InputError
from dpdl.records import JsonObject, Record

ABOVE_ZERO, AT_LEAST_ZERO, BELOW_ONE = (
    "a finite number above 0",
    "a finite number of at least 0",
    "at least 0, below 1",
)
SHARE, COUNT = "above 0 and at most 1", "a whole number of at least 1"
HOLDS: dict[str, Callable[[float], bool]] = {
    ABOVE_ZERO: lambda v: math.isfinite(v) and v > 0,
    AT_LEAST_ZERO: lambda v: math.isfinite(v) and v >= 0,
    BELOW_ONE: lambda v: 0 <= v < 1,
    SHARE: lambda v: 0 < v <= 1,
    COUNT: lambda v: isinstance(v, int) and v >= 1,
}
MEANING = {  # field: what it is, what it must be
    "eta": ("step size eta", ABOVE_ZERO),
    "beta": ("momentum beta", BELOW_ONE),
    "rho": ("rho of the graph", BELOW_ONE),
    "L": ("smoothness L", ABOVE_ZERO),
    "N": ("number of agents N", COUNT),
    "T": ("rounds T", COUNT),
    "C": ("clipping norm C", ABOVE_ZERO),
    "sigma": ("noise multiplier sigma", AT_LEAST_ZERO),
    "d": ("number of parameters d", COUNT),
    "w_min": ("smallest weight w_min", SHARE),
    "B": ("batch size B", COUNT),
    "alpha": ("calibration weight alpha", AT_LEAST_ZERO),
    "xi": ("sampling deviation xi", AT_LEAST_ZERO),
    "kappa": ("deviation between agents kappa", AT_LEAST_ZERO),
    "gap": ("gap F(x_0) - F*", AT_LEAST_ZERO),
    "epsilon": ("epsilon", ABOVE_ZERO),
}


@final
@dataclass(frozen=True)
class Letters(Record):
    """What the formulas need, in the paper's letters."""

    eta: float  # step size
    beta: float  # momentum
    rho: float  # max(|lambda_2|, |lambda_N|)^2 of W
    L: float  # every agent's loss is L-smooth
    N: int  # agents
    T: int  # rounds
    C: float  # clipping norm
    sigma: float  # noise multiplier
    d: int  # parameters of the model
    w_min: float  # smallest positive entry of W
    B: int  # batch size
    alpha: float  # calibration weight
    xi: float  # xi^2 bounds the variance of one record's gradient
    kappa: float  # kappa^2 bounds the variance of the agents' gradients
    gap: float  # F(x_0) - F*
    epsilon: float | None = None  # only the corollary needs it

    def __post_init__(self) -> None:
        for f in fields(self):
            value, (name, rule) = getattr(self, f.name), MEANING[f.name]
            if f.name == "epsilon" and value is None:
                continue
            if (
                isinstance(value, bool)
                or not isinstance(value, (int, float))
                or not HOLDS[rule](value)
            ):
                raise InputError(f"The {name} must be {rule}, not {value!r}.")

    @property
    def a(self) -> float:
        """1 - beta."""
        return 1 - self.beta

    @property
    def s(self) -> float:
        """1 - sqrt(rho), the spectral gap of W."""
        return 1 - math.sqrt(self.rho)


@final
@dataclass(frozen=True)
class Condition(Record):
    """One inequality: its two sides, and what it asks for in words."""

    name: str
    holds: bool
    value: float
    limit: float
    words: str


@final
@dataclass(frozen=True)
class StepSizes(Record):
    """The step sizes that meet the three conditions: above `above`, at most `up_to`."""

    above: float
    positive_above: float  # C_1 > 0 needs eta above this
    up_to: float
    up_to_name: str  # the condition that `up_to` comes from

    def to_json(self) -> JsonObject:
        """As `json.dumps` takes it, and whether there are any."""
        return {**super().to_json(), "empty": self.empty}

    @property
    def empty(self) -> bool:
        """No step size meets all three conditions."""
        return self.above >= self.up_to

    @property
    def useless(self) -> bool:
        """No step size that meets all three conditions has C_1 > 0."""
        return self.positive_above >= self.up_to


@final
@dataclass(frozen=True)
class Bound:
    """The right-hand side of the theorem. All of it but C_1 is None when C_1 is not positive."""

    total: float | None
    terms: dict[str, float | None]
    constants: dict[str, float | None]


@final
@dataclass(frozen=True)
class Corollary(Record):
    """How many rounds Corollary 1 asks for, with eta = c N epsilon / T and c = 1."""

    epsilon: float
    first: float
    second: float | None  # None where its denominator is not positive
    required: int | None  # whole rounds, the larger of the two
    met: bool | None
    c: float  # what the given step size amounts to
    below: float  # with this many rounds or more, eta = N epsilon / T breaks the first condition
    positive_below: float  # and with this many rounds or more C_1 is not positive


CONSENSUS, DESCENT = "eta <= consensus limit", "eta <= descent limit"
TERMS = {
    "start": "distance of the start from the optimum, gap / (C_1 T)",
    "agents": "the agents' data differ, kappa",
    "sampling": "a batch is a sample, xi",
    "noise": "noise on the average model",
    "noise_consensus": "noise that drives the models apart",
    "gradient": "clipped gradients and calibration on the average model",
    "gradient_consensus": "clipped gradients and calibration that drive the models apart",
}


@contextmanager
def _computable() -> Iterator[None]:
    """Numbers beyond the range of a float become one sentence."""
    try:
        yield
    except (OverflowError, ZeroDivisionError) as failure:
        raise InputError(
            "These values are too large or too small to compute the formulas of "
            "Theorem 2."
        ) from failure


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise OverflowError
    return value


# ------------------------------------------------------------------ conditions
@_computable()
def step_sizes(letters: Letters) -> StepSizes:
    """The interval that eq:learningrate leaves, and where C_1 becomes positive."""
    limits = {CONSENSUS: _consensus_limit(letters), DESCENT: _descent_limit(letters)}
    name = min(limits, key=lambda n: limits[n])
    return StepSizes(letters.a**2 / 256, letters.a**2 / 16, limits[name], name)


def _consensus_limit(q: Letters) -> float:
    """The second condition: a (1 - rho) / (2 sqrt(30) L)."""
    return _finite(q.a * (1 - q.rho) / (2 * math.sqrt(30) * q.L))


def _descent_limit(q: Letters) -> float:
    """The third condition: s (sqrt(256^2 + 15 a^2 L^2 N^2) - 256 s) / (30 L^2 N).

    The difference loses all its digits when L N is small, so it is taken as (root^2 - (256 s)^2) /
    (root + 256 s).
    """
    u = (q.L * q.N) ** 2
    root = math.sqrt(256**2 + 15 * q.a**2 * u)
    difference = (256**2 * (1 - q.s) * (1 + q.s) + 15 * q.a**2 * u) / (root + 256 * q.s)
    return _finite(q.s * difference / (30 * u / q.N))


@_computable()
def conditions(letters: Letters) -> list[Condition]:
    """The three conditions on the step size, C_1 > 0, and whether any step size can meet them."""
    q, sizes = letters, step_sizes(letters)
    consensus, descent, c1 = _consensus_limit(q), _descent_limit(q), first_constant(q)
    return [
        Condition(
            "eta > lower limit",
            q.eta > sizes.above,
            q.eta,
            sizes.above,
            "(1 - beta)^2 / 256",
        ),
        Condition(
            CONSENSUS,
            q.eta <= consensus,
            q.eta,
            consensus,
            "(1 - beta)(1 - rho) / (2 sqrt(30) L)",
        ),
        Condition(
            DESCENT,
            q.eta <= descent,
            q.eta,
            descent,
            "s (sqrt(256^2 + 15 (1 - beta)^2 L^2 N^2) - 256 s) / (30 L^2 N), s = 1 - "
            "sqrt(rho)",
        ),
        Condition(
            "C_1 > 0",
            c1 > 0,
            c1,
            0.0,
            "the bound divides by C_1; it needs eta > (1 - beta)^2 / 16",
        ),
        Condition(
            "some eta meets all three",
            not sizes.empty,
            sizes.above,
            sizes.up_to,
            f"the lower limit lies below the smaller upper one ({sizes.up_to_name})",
        ),
        Condition(
            "some eta also has C_1 > 0",
            not sizes.useless,
            sizes.positive_above,
            sizes.up_to,
            f"(1 - beta)^2 / 16 lies below the smaller upper limit ({sizes.up_to_name})",
        ),
    ]


def applies(letters: Letters) -> bool:
    """Whether this step size meets the three conditions and C_1 > 0, so that the bound is one."""
    return all(c.holds for c in conditions(letters)[:4])


@_computable()
def largest_smoothness(letters: Letters) -> float | None:
    """The largest L for which this step size meets both upper conditions; None when there is none.

    Both limits fall as L grows. The second upper one is a quadratic equation in u = L^2 at
    equality: k^2 u^2 - p u - 256^2 (1 - s^2) = 0 with k = 30 eta N / s and p = 15 a^2 N^2 - 2 * 256
    * 30 eta N.
    """
    q = letters
    consensus = q.a * (1 - q.rho) / (2 * math.sqrt(30) * q.eta)
    k, p = 30 * q.eta * q.N / q.s, 15 * (q.a * q.N) ** 2 - 2 * 256 * 30 * q.eta * q.N
    rest = 256**2 * (1 - q.s) * (1 + q.s)
    root = math.hypot(p, 2 * k * math.sqrt(rest))
    if p <= 0 and rest == 0:
        return None
    # Of the two forms of the positive root, the one that does not subtract.
    u = (p + root) / (2 * k**2) if p > 0 else 2 * rest / (root - p)
    return _finite(min(consensus, math.sqrt(u)))


# ------------------------------------------------------------------ bound
def first_constant(q: Letters) -> float:
    """C_1 = eta / (2 a) - a / 32; the bound divides by it."""
    return q.eta / (2 * q.a) - q.a / 32


@_computable()
def bound(letters: Letters) -> Bound:
    """The right-hand side of eq:convergence, term by term, with C_1 to C_6 of eq:conconstants."""
    c1 = first_constant(letters)
    if c1 <= 0:
        return Bound(
            None,
            dict.fromkeys(TERMS),
            {"C_1": c1, **{f"C_{k}": None for k in range(2, 7)}},
        )
    constants = _constants(letters, c1)
    terms = _terms(letters, constants)
    c2 = (
        _finite(letters.a * letters.L / (2 * c1 * letters.beta))
        if letters.beta
        else None
    )  # the paper divides by beta
    return Bound(
        _finite(math.fsum(terms.values())),
        dict(terms),
        {"C_1": c1, "C_2": c2, **constants},
    )


def _constants(q: Letters, c1: float) -> dict[str, float]:
    found = {
        "C_3": q.L * q.eta**2 / (2 * c1 * q.a**3),
        "C_4": q.eta / (2 * c1 * q.a),
        "C_5": 8 * q.eta**2 / (2 * c1 * q.a**3),
        "C_6": q.L**2 * q.eta / (2 * c1 * q.a),
    }
    return {name: _finite(value) for name, value in found.items()}


def _terms(q: Letters, constants: dict[str, float]) -> dict[str, float]:
    c3, c5, c6 = (constants[name] for name in ("C_3", "C_5", "C_6"))
    # C_2 eta^2 beta^2 / a^4 is beta C_3, which exists without momentum too.
    average = q.beta * c3 + c3 + 2 * c5
    spread = q.eta**2 * c6 / (q.a**2 * q.s**2)
    noise = q.C**2 * q.sigma**2 * q.d
    w2 = q.w_min**2
    return {
        "start": q.gap / (first_constant(q) * q.T),
        "agents": 60 * spread * q.kappa**2,
        "sampling": (4 * c5 / q.N + 60 * spread) * q.xi**2,
        "noise": average * 3 * noise / (w2 * q.B**2 * q.N**2),
        # The statement has C^2 sigma^2 d twice, its proof once.
        "noise_consensus": 24 * spread * noise / (w2 * q.B**2 * q.N) * noise,
        "gradient": average
        * (48 * q.C**2 + 27 * w2 * q.alpha**2 * q.C**2 * q.N)
        / (16 * w2 * q.N),
        "gradient_consensus": (48 * q.B**2 + 27 * w2 * q.alpha * q.N)
        * spread
        * q.C**2
        / (w2 * q.B**2 * q.N),
    }


# ------------------------------------------------------------------ corollary
@_computable()
def corollary(letters: Letters) -> Corollary | None:
    """The rounds of eq:Tbound; None without an epsilon."""
    q = letters
    if q.epsilon is None:
        return None
    first = _finite(2 * math.sqrt(30) * q.N * q.L * q.epsilon / (q.a * (1 - q.rho)))
    u = (q.L * q.N) ** 2
    difference = math.sqrt(256 + 15 * q.a * u) - 16 * q.s
    # Positive for every L > 0, since s <= 1; but L N may be lost beside 256 when s = 1.
    second = _finite(30 / q.s * u * q.epsilon / difference) if difference > 0 else None
    required = None if second is None else max(1, math.ceil(max(first, second)))
    reach = q.N * q.epsilon / q.a**2
    return Corollary(
        epsilon=q.epsilon,
        first=first,
        second=second,
        required=required,
        met=None if required is None else required <= q.T,
        c=_finite(q.eta * q.T / (q.N * q.epsilon)),
        below=_finite(256 * reach),
        positive_below=16 * reach,
    )
