"""What a run was started with: `experiment.json`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self, final

from dpdl.folder.form_facts import FormFacts
from dpdl.records import Json, Record, absent, others

FORMAT = 1


@final
@dataclass(frozen=True, kw_only=True)
class RunFacts(Record):
    """The experiment, and what must be the same when the run is resumed.

    It can be read whichever version of dpdl wrote it; None: that version did not say.
    """

    format: int | None = absent()
    version: str | None = absent()  # of dpdl
    data_sha256: str | None = absent()
    graph_sha256: str | None = absent()  # of the mixing matrix
    model_shapes: Mapping[str, tuple[int, ...]] | None = absent()  # of its parameters
    form: FormFacts | None = absent()  # noqa: RUF009, of a record, if no name tells it
    own_module: str | None = absent()  # class of a module that was given as an object
    site_sha256: Mapping[str, str] | None = (
        absent()
    )  # of the records of agents hosted here
    experiment: Mapping[str, Json]  # options by name
    more: Mapping[str, Json] = others()  # of other versions

    def with_options(self, **options: Json) -> Self:
        """The same with other values of some options."""
        return replace(self, experiment={**self.experiment, **options})
