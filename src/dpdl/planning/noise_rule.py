"""The rules that set the noise multiplier."""

from __future__ import annotations

import math

from dpdl.errors import InputError, PrivacyRefused
from dpdl.experiment.experiment import Experiment
from dpdl.planning.privacy_model import PrivacyModel
from dpdl.privacy.epsilon import Epsilon
from dpdl.privacy.theorem1 import (
    Theorem1,
    public_code_sigma,
    public_code_sigma_of_others,
)
from dpdl.privacy.threats import threat


def rule_of(e: Experiment) -> str | None:
    """The name of the rule that sets sigma; None: it is a fixed number, or there is no noise."""
    fixed = e.sigma is not None or e.noise == "none"
    return None if fixed else e.noise


def sigma_by_rule(
    e: Experiment, model: PrivacyModel, theorem1: Theorem1 | None
) -> float:
    """The noise multiplier that an experiment asks for, by a number or by a rule."""
    assert e.epsilon
    if e.sigma is not None:
        return e.sigma
    match e.noise:
        case "accountant":
            return _by_accountant(e, model, e.epsilon)
        case "theorem1":
            if theorem1:
                return theorem1.sigma(e.epsilon)
            raise InputError(
                f"Theorem 1 says nothing about {e.algorithm}: take noise 'accountant', or a "
                "fixed sigma."
            )
        case "public-code":
            if theorem1:
                return public_code_sigma(model.graph.W, model.batch, e.epsilon)
            return public_code_sigma_of_others(e.epsilon)
        case _:
            return 0.0


def _by_accountant(e: Experiment, model: PrivacyModel, epsilon: float) -> float:
    sigma = model.needed_sigma(epsilon, threat(e.threat))
    if math.isfinite(sigma):
        return sigma
    raise PrivacyRefused(
        f"No noise multiplier proves epsilon = {epsilon:g}: {_cause(e, model)}."
    )


def _cause(e: Experiment, model: PrivacyModel) -> str:
    if not model.mechanism.bounds_record:
        return f"clip_unit {e.clip_unit!r} does not bound a record, only 'sample' does"
    if model.centre is not None:
        alone = model.with_noise(1.0).worst(threat(e.threat), 0)
        if alone >= (e.epsilon or 0):
            return (
                f"that of the centre alone is {Epsilon(alone)}; raise centre_noise, which is "
                f"{e.centre_noise:g}, or leave centre out"
            )
    if why := model.algorithm.unproven_because:
        return why
    if model.unproven:
        return f"{e.algorithm} has no proof for batches of fixed size"
    return f"{e.algorithm} has no proof for a model of {model.size} parameters"
