"""The manifest: everything that the members of a run agree on, in one file.

    [experiment]    all options (see `agreed_options`)
    [[member]]      name, key, agreement, data, records, url; in the order of the agents
    [graph]         weights: (i, j, w_ij) of every edge and self-loop
    [privacy]       sigma, delta, threat, relation, epsilon of every member
    [model]         sha256 of initial.safetensors, shapes
    [data]          shape, predict, scaling, test_sha256
    [rules]         alarm_minutes, least_members, graph, largest_norm, ends

The name of a run is the SHA-256 of the bytes of this file: nobody can change a letter and keep the
approvals. A manifest that constructs is complete and in itself consistent; whether its epsilons are
true, every member computes for itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np

from dpdl.errors import InputError
from dpdl.graph import Graph
from dpdl.peer.agreed_options import (
    GIVEN,
    check_algorithm,
    check_own_code,
    experiment_from,
)
from dpdl.peer.documents import differing_fields, record_of, table_of
from dpdl.peer.manifest_parts import (
    MOST_MEMBERS,
    DataForm,
    ManifestParts,
    Member,
    ModelFacts,
    Rules,
    Terms,
    Weighted,
)
from dpdl.peer.spelling import check_count
from dpdl.peer.toml_text import dumps
from dpdl.planning.build import make_algorithm
from dpdl.records import JsonObject
from dpdl.text import sentence, shown

if TYPE_CHECKING:
    from dpdl.experiment.experiment import Experiment

__all__ = [
    "LARGEST_MANIFEST",
    "DataForm",
    "Manifest",
    "Member",
    "ModelFacts",
    "Rules",
    "Terms",
    "differing",
    "manifest_text",
]

LARGEST_MANIFEST = 1 << 20
"""Bytes of a manifest."""
WHAT = "manifest"
Weight = tuple[int, int, float]
PREAMBLE = (
    "# What the members of a run agree on. Its name is the SHA-256 of these bytes.\n"
)


@final
@dataclass(frozen=True, eq=False)
class Manifest:
    """One agreement, exactly as it was written; two are equal when their bytes are."""

    content: bytes = field(repr=False)
    parts: ManifestParts = field(repr=False)
    hash: str
    modules: tuple[str, ...] = field(default=(), repr=False)

    @classmethod
    def parse(cls, content: bytes, modules: Sequence[str] = ()) -> Manifest:
        """The manifest in a file; one that is wrong is an `InputError` that names the field.

        `modules` are those of the site's own code that a manifest may name.
        """
        table = table_of(content, WHAT, LARGEST_MANIFEST)
        parts = record_of(ManifestParts, table, WHAT)
        name = hashlib.sha256(content).hexdigest()
        found = cls(content, parts, name, tuple(modules))
        try:
            found._check()
        except InputError as failure:
            raise InputError(sentence(str(failure))) from failure
        return found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Manifest) and self.content == other.content

    def __hash__(self) -> int:
        return hash(self.content)

    # ------------------------------------------------------------------ its tables
    @property
    def experiment(self) -> JsonObject:
        """All options that are set, by name."""
        found = self.parts.experiment
        assert isinstance(found, dict)
        return found

    @property
    def members(self) -> tuple[Member, ...]:
        """The sites, in the order of the agents."""
        return self.parts.member

    @property
    def weights(self) -> tuple[Weight, ...]:
        """(i, j, w_ij) with i <= j and w_ij > 0."""
        return self.parts.graph.weights

    @property
    def privacy(self) -> Terms:
        """What the run costs."""
        return self.parts.privacy

    @property
    def model(self) -> ModelFacts:
        """What the models start from."""
        return self.parts.model

    @property
    def form(self) -> DataForm:
        """What a record looks like."""
        return self.parts.data

    @property
    def rules(self) -> Rules:
        """What happens when a member stays away."""
        return self.parts.rules

    # ------------------------------------------------------------------ what follows from them
    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the members, in the order of the agents."""
        return tuple(member.name for member in self.members)

    def number(self, name: str) -> int:
        """The number of a member's agent."""
        if name not in self.names:
            raise InputError(
                f"{shown(name)} is no member of run {self.hash[:12]}: "
                f"{', '.join(self.names)[:100]}."
            )
        return self.names.index(name)

    @cached_property
    def graph(self) -> Graph:
        """Who talks to whom, with which weights: symmetric, doubly stochastic and connected."""
        W = np.zeros((len(self.members), len(self.members)))
        for i, j, weight in self.weights:
            if j >= len(self.members):
                raise InputError(
                    f"manifest.graph.weights names member {j}: none is there."
                )
            W[i, j] = W[j, i] = weight
        try:
            return Graph(W, str(self.experiment.get("graph", GIVEN)))
        except InputError as failure:
            raise InputError(f"manifest.graph.weights: {failure}") from failure

    def neighbours(self, i: int) -> tuple[int, ...]:
        """The numbers of the members that member i talks to, ascending, without i itself."""
        return tuple(int(j) for j in self.graph.neighbours(i) if j != i)

    def experiment_of(self) -> Experiment:
        """The experiment, resolved, with the members as its sites and with the agreed sigma.

        Code of the members' own is refused, unless this site allows its module.
        """
        check_own_code(self._experiment, self.modules)
        return self._experiment

    @cached_property
    def _experiment(self) -> Experiment:
        said: dict[str, object] = {
            "sites": self.names,
            "shape": self.form.shape,
            "predict": self.form.predict,
            "scaling": self.form.scaling,
            "records": ",".join(str(member.records) for member in self.members),
        }
        return experiment_from(self.experiment, said, self.privacy.sigma)

    # ------------------------------------------------------------------ what must fit together
    def _check(self) -> None:
        if not isinstance(self.parts.experiment, dict):
            raise InputError("manifest.experiment must be a table.")
        check_count(len(self.members), "The number of members", 2, MOST_MEMBERS)
        self._check_different()
        self._check_terms()
        self._check_rules()
        e = self._experiment
        check_algorithm(e.algorithm, make_algorithm(e), self.graph)

    def _check_different(self) -> None:
        for name in ("name", "key", "agreement"):
            values = [getattr(member, name) for member in self.members]
            if len(set(values)) < len(values):
                raise InputError(f"Two members of the manifest have the same {name}.")

    def _check_terms(self) -> None:
        e, terms = self._experiment, self.privacy
        for name in ("delta", "threat", "relation"):
            agreed, asked = getattr(terms, name), getattr(e, name)
            if agreed != asked:
                raise InputError(
                    f"manifest.privacy.{name} is {shown(agreed)}, but manifest.experiment.{name} "
                    f"is {shown(asked)}."
                )
        if len(terms.epsilon) != len(self.members):
            raise InputError(
                f"manifest.privacy.epsilon must have {len(self.members)} numbers, one of every "
                f"member, not {len(terms.epsilon)}."
            )

    def _check_rules(self) -> None:
        most = len(self.members)
        least = self.rules.least_members
        check_count(least, "manifest.rules.least_members", 2, most)
        if self.rules.graph == "rebuild" and self.experiment["graph"] == GIVEN:
            raise InputError(
                "manifest.rules.graph must be 'lost-weight': a graph without a name cannot be "
                "built again for fewer members."
            )


def manifest_text(
    experiment: JsonObject,
    members: Sequence[Member],
    weights: Sequence[Weight],
    privacy: Terms,
    model: ModelFacts,
    form: DataForm,
    rules: Rules,
) -> bytes:
    """The file of an agreement; what would not be read again is refused."""
    graph = Weighted(tuple(weights))
    parts = ManifestParts(
        experiment, tuple(members), graph, privacy, model, form, rules
    )
    content = (PREAMBLE + dumps(parts.to_json())).encode()
    return Manifest.parse(content).content


def differing(a: Manifest, b: Manifest) -> list[str]:
    """Names with dots of the fields in which two manifests differ, such as `privacy.sigma`."""
    return differing_fields(a.parts.to_json(), b.parts.to_json())
