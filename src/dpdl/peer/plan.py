"""From a manifest to what a peer runs: the public plan, and its own records.

A peer divides nothing and derives nothing from its records: how a record looks, how many there are
at each site and where the model starts are in the manifest.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dpdl.errors import InputError
from dpdl.foreign import read_bytes
from dpdl.peer.view import FIRST, View
from dpdl.planning.build import make_algorithm, make_privacy_model, with_batch
from dpdl.planning.plan import make_task
from dpdl.planning.public_plan import PublicPlan
from dpdl.planning.site import EvaluationRecords, Site
from dpdl.planning.sites import Sites, form_at_sites
from dpdl.privacy.sealed import Sealed
from dpdl.privacy.threats import threat
from dpdl.tasks import models
from dpdl.tasks.data.site_records import Owner, public_test

if TYPE_CHECKING:
    from torch import nn

    from dpdl.experiment.experiment import Experiment
    from dpdl.peer.manifest import Manifest
    from dpdl.privacy.accounting import Step
    from dpdl.privacy.noise import Randomness
    from dpdl.tasks.data.form import Form

ELSEWHERE = "at another site"
"""Stands for the records of other members; nobody opens it."""


def first_view(manifest: Manifest) -> View:
    """All members on the graph of the manifest."""
    return View(FIRST, manifest.names, manifest.graph)


def public_plan(manifest: Manifest, view: View, initial: bytes) -> PublicPlan:
    """What all members of a view know; `initial` is the content of `initial.safetensors`."""
    e = manifest.experiment_of()
    form = _sites(manifest, view, e).seen
    task = make_task(e, form, _module(manifest, e, form, initial))
    shapes = {name: tuple(shape) for name, shape in task.shapes.items()}
    if shapes != manifest.model.shapes:
        raise InputError(
            f"manifest.model.shapes are not those of the parameters of model {e.model!r}; ask for "
            "a proposal that was made by dpdl peer propose."
        )
    algorithm = make_algorithm(e)
    algorithm.check(view.graph)
    records = declared(manifest, view)
    sigma = manifest.privacy.sigma
    privacy = make_privacy_model(e, algorithm, view.graph, records, task.size, sigma)
    e = with_batch(e, privacy.mechanism.sampling)
    made = PublicPlan(e, form, task, privacy, None, None)
    made.check_noise(Sealed())
    return made


def declared(manifest: Manifest, view: View) -> list[int]:
    """How many records every member of a view says it has."""
    said = {member.name: member.records for member in manifest.members}
    return [said[name] for name in view.names]


def own_step(plan: PublicPlan, manifest: Manifest, number: int) -> Step:
    """One round of a member as the accountant sees it, against the manifest's threat."""
    return plan.privacy.step(number, threat(manifest.privacy.threat))


def own_site(
    manifest: Manifest,
    view: View,
    plan: PublicPlan,
    name: str,
    file: Owner,
    randomness: Randomness,
    test: Path | None = None,
) -> Site:
    """The records of one member, from its own file; no other file is opened.

    `test` is the public test set that the manifest names, if it names one.
    """
    number = view.rank(name)
    owners = [ELSEWHERE if k != number else file for k in range(len(view.names))]
    sites = _sites(manifest, view, plan.experiment, tuple(owners))
    sites = replace(sites, public_test=_test(manifest, sites.form, test))
    records, tests = sites.records([number]), sites.tests([number])
    return Site(plan, records, tests, sites.common_test, randomness)


def _sites(
    manifest: Manifest, view: View, e: Experiment, owners: tuple[Owner, ...] = ()
) -> Sites:
    bounded = make_algorithm(e).disclosure.sized
    said = tuple(declared(manifest, view))
    return Sites(form_at_sites(e), owners, None, e.model, said, bounded)


def _test(
    manifest: Manifest, form: Form, file: Path | None
) -> EvaluationRecords | None:
    """The public test records, which are the same bytes everywhere."""
    wanted = manifest.form.test_sha256
    if wanted is None or file is None:
        return None
    if hashlib.sha256(read_bytes(file)).hexdigest() != wanted:
        raise InputError(
            f"{str(file)!r} is not the public test set of the manifest: its SHA-256 differs."
        )
    return EvaluationRecords(*public_test(str(file), type(form.targets)))


def _module(manifest: Manifest, e: Experiment, form: Form, initial: bytes) -> nn.Module:
    """The model that all start from."""
    from safetensors import SafetensorError
    from safetensors.torch import load

    if hashlib.sha256(initial).hexdigest() != manifest.model.sha256:
        raise InputError(
            "initial.safetensors is not the model of the manifest: its SHA-256 differs; "
            "ask whoever proposed the run for the file."
        )
    assert e.model
    module = models.build(e.model, form.shape, form.outputs, e.seed)
    try:
        found = load(initial)
        module.load_state_dict(found, strict=False)
    except (SafetensorError, RuntimeError) as failure:
        first = str(failure).splitlines()[0]
        raise InputError(f"initial.safetensors does not fit: {first}.") from failure
    named = {name for name, p in module.named_parameters() if p.requires_grad}
    if missing := sorted(named - set(found)):
        raise InputError(f"initial.safetensors has no parameter {missing[0]!r}.")
    return module
