"""Records that stay with their owners: one file, or one data set, for every agent.

What a record looks like is public and given beforehand (`Form`); no model, class or scale is
derived from the records of one site. A process reads the files of the agents it hosts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import final

import numpy as np
import torch

from dpdl.errors import InputError
from dpdl.experiment.experiment import Experiment
from dpdl.experiment.sites import parse_scaling, parse_shape
from dpdl.planning.site import AgentRecords, EvaluationRecords
from dpdl.privacy.declared import EXACT, declared, most_records, parse
from dpdl.tasks import data as datasets
from dpdl.tasks import features
from dpdl.tasks.data import Dataset
from dpdl.tasks.data.form import Form
from dpdl.tasks.data.site_records import Owner, of_site, public_test
from dpdl.tasks.targets import predicted


@final
@dataclass(frozen=True)
class Sites:
    """Who has the records of every agent, and what is known about them."""

    form: Form  # of a record as it is stored
    owners: tuple[Owner, ...] = field(repr=False)
    public_test: (
        EvaluationRecords | None
    )  # None: every site tests on records of its own
    model: str | None  # the name of the model, which may take features
    declared: tuple[int, ...] | None = None  # None: as many as there are
    bounded: bool = False  # no agent may have many more records than it declares
    _loaded: dict[int, Dataset] = field(default_factory=dict, repr=False, compare=False)

    name = "sites"

    @property
    def common_test(self) -> bool:
        """Whether all agents have the same test records."""
        return self.public_test is not None

    def records(self, agents: Iterable[int]) -> dict[int, AgentRecords]:
        """Those of some agents; only their files are read."""
        return {agent: self._records(agent) for agent in agents}

    def tests(self, agents: Iterable[int]) -> dict[int, EvaluationRecords]:
        """The public test records for all alike, or those of every agent's own site."""
        found = {agent: self._site(agent) for agent in agents}
        every = {
            a: EvaluationRecords(one.x_test, one.y_test) for a, one in found.items()
        }
        if self.common_test and every:
            return dict.fromkeys(every, next(iter(every.values())))
        return every

    def counts(self) -> list[int]:
        """How many records every agent has; all files must be here."""
        return [len(self._site(agent).y) for agent in range(len(self.owners))]

    def hashes(self, agents: Iterable[int]) -> dict[str, str]:
        """A hash of the records of some agents, by agent."""
        return {str(agent): self._site(agent).fingerprint() for agent in agents}

    @cached_property
    def fingerprint(self) -> str:
        """A hash of what processes that host different agents have in common."""
        total = hashlib.sha256(f"{self.form} {self.form.targets}".encode())
        for rows in self.public_test or ():
            total.update(rows.contiguous().numpy().tobytes())
        return total.hexdigest()

    @cached_property
    def seen(self) -> Form:
        """The form of a record as the model sees it: features may stand in for pixels."""
        form = self.form
        x = torch.zeros(1, *form.shape, dtype=form.dtype)
        y = form.targets.blank(1)
        one = Dataset("one record", x, y, x, y, 0, form.mean, form.std, form.targets)
        return self._as_seen(one).form

    def _as_seen(self, data: Dataset) -> Dataset:
        return data if self.model is None else features.for_model(self.model, data)

    def _records(self, agent: int) -> AgentRecords:
        site = self._site(agent)
        if self.declared is not None:
            self._check(agent, len(site.y), self.declared[agent])
        return AgentRecords(site.x, site.y, np.arange(len(site.y)))

    def _check(self, agent: int, count: int, declared: int) -> None:
        if count < declared:
            raise InputError(
                f"Site {self._name(agent)} has fewer records than the {declared} that are declared "
                f"for agent {agent}: declare fewer."
            )
        if self.bounded and count > most_records(declared):
            raise InputError(
                f"The bound of this algorithm counts on at most {most_records(declared)} records "
                f"where {declared} are declared, and site {self._name(agent)} has more; declare a "
                "number nearer to the true one."
            )

    def _name(self, agent: int) -> str:
        owner = self.owners[agent]
        return repr(owner.name if isinstance(owner, Dataset) else str(owner))

    def _site(self, agent: int) -> Dataset:
        if agent not in self._loaded:
            found = of_site(self.owners[agent], self.form, self.public_test)
            self._loaded[agent] = self._as_seen(found)
        return self._loaded[agent]


def make_sites(
    e: Experiment, owners: Sequence[Owner], agents: int, named_model: bool, sized: bool
) -> Sites:
    """The sites of an experiment, whose records need not be here unless their number is asked for.

    With `sized`, a proof counts on no agent having many more records than it declares.
    """
    if len(owners) != agents:
        raise InputError(
            f"sites must name one file for each of {agents} agents, not {len(owners)}."
        )
    form = form_at_sites(e)
    test = None
    if e.test is not None:
        test = EvaluationRecords(*public_test(e.test, type(form.targets)))
    sites = Sites(form, tuple(owners), test, e.model if named_model else None)
    return replace(sites, declared=_declared(e, sites), bounded=sized)


def named_form(e: Experiment) -> Form | None:
    """How a record looks by the names in an experiment; None: only the records tell."""
    return datasets.form_of(e.dataset) if e.sites is None else form_at_sites(e)


def form_at_sites(e: Experiment) -> Form:
    """How a record looks, from what the experiment says: its shape, or the name of a data set."""
    wanted = predicted(e.predict)
    if e.shape is None:
        form = datasets.form_of(e.dataset)
        if form is None:
            raise InputError(
                f"The shape of records at sites is not known of the data set {e.dataset!r}; give "
                "shape, or the name of a data set whose records look the same."
            )
        if e.predict is not None and wanted.of(form.targets.count) != form.targets:
            raise InputError(
                f"The data set {e.dataset} has {form.targets}, not {wanted}; give shape for other "
                "records."
            )
        return form
    if wanted.count is None:
        raise InputError(
            f"predict must say how many {wanted} there are, such as '3 {wanted}': no site's "
            "records may decide it."
        )
    shape, targets = parse_shape(e.shape), wanted.of(wanted.count)
    if e.scaling is None:
        return Form(shape, targets)
    return Form(shape, targets, torch.uint8, *parse_scaling(e.scaling))


def _declared(e: Experiment, sites: Sites) -> tuple[int, ...]:
    if e.records is not None and e.records != EXACT:
        return tuple(parse(e.records, len(sites.owners)))
    try:
        counts = sites.counts()
    except InputError as failure:
        raise InputError(
            f"{str(failure).rstrip('.')}; where not all sites are here, declare how many records "
            "each has with records."
        ) from failure
    return tuple(declared(e.records, counts))
