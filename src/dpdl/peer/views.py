"""Going on without a member that does not come back.

Each member that remains signs a statement: which view ends, whom it drops, and the last round that
it has begun. Whoever holds equal statements of all who remain computes the next view from them:

    members   those of the view before without the dropped ones, in the same order
    graph     the named graph anew, or the lost weight on the self-loops
    start     1 + the largest round that somebody had begun
    links     new secrets, from a key in each statement

There is no leader and no second vote: a view is a function of the statements. More than half of a
view must remain, so two halves cannot both go on. Rounds in progress are abandoned: they stay paid,
and are never repeated.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self, final

import numpy as np

from dpdl import graph as graphs
from dpdl.errors import InputError
from dpdl.graph import Graph
from dpdl.peer.keys import SigningKey, check_agreement
from dpdl.peer.manifest import Manifest
from dpdl.peer.signed import checked, signed_text, split
from dpdl.peer.toml_text import flat
from dpdl.peer.view import View
from dpdl.records import Record
from dpdl.text import shown

KIND = "stop"
"""The kind of the documents that statements are."""
OVER = "over"
"""The kind of the documents that statements which ended a view are kept in."""
DOCUMENT = re.compile(r"(0|[1-9][0-9]{0,17})-(.+)", re.ASCII)
"""The name of such a document: a view and a member."""
BOUNDARY = b"\n# next statement\n"
"""Between statements that ended a view, where they are kept together."""


@final
@dataclass(frozen=True, kw_only=True)
class StopStatement(Record):
    """One member's word that a view shall end."""

    FORMAT: ClassVar[int | None] = 1

    run: str
    view: int
    name: str
    drop: tuple[str, ...]  # in the order of the view; empty: all go on
    begun: int  # the last round that the member has begun in this view
    agreement: str  # public X25519 key: the links of the next view have new secrets
    attempt: int = 1  # a later one replaces an earlier one

    def __post_init__(self) -> None:
        check_agreement(self.agreement)

    def text(self, key: SigningKey) -> bytes:
        """The signed document."""
        return signed_text(self.to_json(), key)

    @classmethod
    def parse(cls, content: bytes, manifest: Manifest, name: str) -> Self:
        """A member's statement, if it is one about this run.

        It has one spelling only: a comment in it might look like the `BOUNDARY` of two.
        """
        public = manifest.members[manifest.number(name)].key
        found = cls.from_json(checked(content, public, f"The statement of {name}"))
        if flat(found.to_json()).encode() != split(content, "statement").body:
            raise InputError(
                f"The statement of {name} is not written as this version writes statements."
            )
        if (found.run, found.name) != (manifest.hash, name):
            raise InputError(f"The statement of {name} is about another run or member.")
        last = manifest.experiment_of().rounds + 1  # of who has all rounds
        if found.view < 0 or found.attempt < 1 or not 0 <= found.begun <= last:
            raise InputError(f"The statement of {name} has numbers that cannot be.")
        return found

    @property
    def document(self) -> str:
        """The name of the document."""
        return f"{self.view}-{self.name}"


def named(document: str) -> tuple[int, str]:
    """View and member in the name of a document."""
    found = DOCUMENT.fullmatch(document)
    if found is None:
        raise InputError(f"{shown(document)} names no statement.")
    return int(found[1]), found[2]


def next_view(
    manifest: Manifest, view: View, statements: Iterable[StopStatement]
) -> View | None:
    """The view that follows, once all who remain have said the same; None: not yet."""
    said = {one.name: one for one in statements if one.view == view.number}
    for wish in {(one.drop, one.attempt) for one in said.values()}:
        drop = wish[0]
        remain = tuple(name for name in view.names if name not in drop)
        agreed = {
            name: said[name].begun
            for name in remain
            if name in said and (said[name].drop, said[name].attempt) == wish
        }
        if len(agreed) == len(remain) and not refusal(manifest, view, drop):
            start = 1 + max(agreed.values())
            return View(view.number + 1, remain, _graph(manifest, view, remain), start)
    return None


def refusal(manifest: Manifest, view: View, drop: Sequence[str]) -> str | None:
    """Why some members cannot be dropped; None: they can, if all who remain agree."""
    if unknown := [name for name in drop if name not in view.names]:
        return f"{unknown[0]} is not in view {view.number}: {', '.join(view.names)}"
    remain = [name for name in view.names if name not in drop]
    if 2 * len(remain) <= len(view.names):
        return (
            f"{len(remain)} of {len(view.names)} members are not more than half: the others might "
            "go on as well"
        )
    if len(remain) < manifest.rules.least_members:
        return f"the manifest wants at least {manifest.rules.least_members} members"
    try:
        _graph(manifest, view, tuple(remain))
    except InputError as failure:
        return str(failure).rstrip(".")
    return None


def _graph(manifest: Manifest, view: View, remain: tuple[str, ...]) -> Graph:
    if len(remain) == len(view.names):
        return view.graph
    if manifest.rules.graph == "rebuild":
        e = manifest.experiment_of()
        return graphs.build(e.graph, len(remain), e.weights, e.seed)
    kept = [view.rank(name) for name in remain]
    W = np.array(view.graph.W[np.ix_(kept, kept)])
    W[np.diag_indices(len(kept))] += 1 - W.sum(axis=1)
    return Graph(W, "what is left")


# ------------------------------------------------------------------ views that have ended
def joined(contents: Sequence[bytes]) -> bytes:
    """The statements that ended a view, as one document."""
    return BOUNDARY.join(contents)


def parted(content: bytes, manifest: Manifest) -> list[StopStatement]:
    """The statements in such a document, each with its signature checked."""
    found = []
    for one in content.split(BOUNDARY):
        name = _claimed_name(one, manifest)
        found.append(StopStatement.parse(one, manifest, name))
    return found


def current_view(manifest: Manifest, first: View, over: Mapping[str, bytes]) -> View:
    """The view after all that have ended; `over` has their statements, by number."""
    view = first
    while str(view.number) in over:
        statements = parted(over[str(view.number)], manifest)
        following = next_view(manifest, view, statements)
        if following is None:
            raise InputError(
                f"The statements that ended view {view.number} do not make a view."
            )
        view = following
    return view


def agreements_in(content: bytes, manifest: Manifest) -> dict[str, str]:
    """The run keys of the next view, by member, from the statements that ended one."""
    return {one.name: one.agreement for one in parted(content, manifest)}


def _claimed_name(content: bytes, manifest: Manifest) -> str:
    """Whose statement it claims to be; the signature decides."""
    for name in manifest.names:
        if f'name = "{name}"\n'.encode() in content:
            return name
    raise InputError("A statement is not that of a member.")
