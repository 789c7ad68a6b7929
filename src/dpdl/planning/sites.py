"""Records that stay with their owners: one file, or one data set, for every agent.

What a record looks like is public and given beforehand (`Form`); no model, class or scale is
derived from the records of one site. A process reads the files of the agents it hosts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import final

import numpy as np
import torch

from dpdl.errors import InputError
from dpdl.planning.site import AgentRecords, TestRecords
from dpdl.privacy.declared import most_records
from dpdl.tasks import features
from dpdl.tasks.data import Dataset
from dpdl.tasks.data.form import Form
from dpdl.tasks.data.site_records import Owner, of_site


@final
@dataclass(frozen=True)
class Sites:
    """Who has the records of every agent, and what is known about them."""

    form: Form  # of a record as it is stored
    owners: tuple[Owner, ...] = field(repr=False)
    public_test: TestRecords | None  # None: every site tests on records of its own
    model: str | None  # the name of the model, which may take features
    declared: tuple[int, ...] | None = None  # None: as many as there are
    bounded: bool = False  # no agent may have many more records than it declares

    name = "sites"

    def records(self, agents: Iterable[int]) -> dict[int, AgentRecords]:
        """Those of some agents; only their files are read."""
        return {agent: self._records(agent) for agent in agents}

    def test(self, agents: Iterable[int]) -> TestRecords:
        """The public test records, or those of the sites of some agents together."""
        here = [self._loaded(agent) for agent in agents]
        if self.public_test is not None and here:
            return TestRecords(here[0].x_test, here[0].y_test)
        x, y = (
            torch.cat([getattr(site, name) for site in here])
            for name in ("x_test", "y_test")
        )
        return TestRecords(x, y)

    def counts(self) -> list[int]:
        """How many records every agent has; all files must be here."""
        return [len(self._loaded(agent).y) for agent in range(len(self.owners))]

    def hashes(self, agents: Iterable[int]) -> dict[str, str]:
        """A hash of the records of some agents, by agent."""
        return {str(agent): self._loaded(agent).fingerprint() for agent in agents}

    @cached_property
    def fingerprint(self) -> str:
        """What processes that host different agents have in common: the public test records."""
        if self.public_test is None:
            return ""
        x, y = self.public_test
        one = Dataset(
            "test",
            x,
            y,
            x[:1],
            y[:1],
            0,
            self.form.mean,
            self.form.std,
            self.form.targets,
        )
        return one.fingerprint()

    @cached_property
    def seen(self) -> Form:
        """The form of a record as the model sees it: features may stand in for pixels."""
        if self.model is None:
            return self.form
        x = torch.zeros(1, *self.form.shape, dtype=self.form.dtype)
        y, form = self.form.targets.blank(1), self.form
        one = Dataset("one record", x, y, x, y, 0, form.mean, form.std, form.targets)
        return features.for_model(self.model, one).form

    def _records(self, agent: int) -> AgentRecords:
        site = self._loaded(agent)
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

    @cached_property
    def _kept(self) -> dict[int, Dataset]:
        return {}

    def _loaded(self, agent: int) -> Dataset:
        if agent not in self._kept:
            owner = self.owners[agent]
            found = of_site(owner, self.form, self.public_test)
            self._kept[agent] = features.for_model(self.model or "", found)
        return self._kept[agent]


def check_owners(owners: Sequence[Owner], agents: int) -> None:
    """Refuse another number of sites than there are agents."""
    if len(owners) != agents:
        raise InputError(
            f"sites must name one file for each of {agents} agents, not {len(owners)}."
        )
