"""What the members have said about the end of views: the newest statement of each.

Statements are passed on, and a mailbox may show an old one again. A later attempt replaces an
earlier one, and never the other way round; of two with the same number the first one counts.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import final

from dpdl.errors import InputError
from dpdl.peer.manifest import Manifest
from dpdl.peer.store import Store
from dpdl.peer.views import KIND, StopStatement, named


@final
@dataclass(frozen=True)
class Statements:
    """The statements that one peer has; any thread may hand one in."""

    manifest: Manifest
    store: Store
    _one_at_a_time: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def accept(self, document: str, content: bytes) -> None:
        """Keep a statement, if it is the named member's and newer than what is here.

        An older one is left where it is; what is no statement of this run is refused. Members are
        at most one view ahead, so there are never more statements than members and views.
        """
        _, name = named(document)
        statement = StopStatement.parse(content, self.manifest, name)
        if statement.document != document:
            raise InputError(f"The statement {document} is about another view.")
        with self._one_at_a_time:
            view = self.store.here.view
            if statement.view > view + 1:
                raise InputError(
                    f"The statement of {name} ends view {statement.view}, and this site is in "
                    f"view {view}."
                )
            known = self.store.documents(KIND).get(document)
            if known is None or self._attempt(known, name) < statement.attempt:
                self.store.put_document(KIND, document, content)

    def of_view(self, view: int, names: tuple[str, ...]) -> dict[str, StopStatement]:
        """Who has said what about a view."""
        known = self.store.documents(KIND)
        documents = {name: f"{view}-{name}" for name in names}
        return {
            name: StopStatement.parse(known[document], self.manifest, name)
            for name, document in documents.items()
            if document in known
        }

    def _attempt(self, known: bytes, name: str) -> int:
        return StopStatement.parse(known, self.manifest, name).attempt
