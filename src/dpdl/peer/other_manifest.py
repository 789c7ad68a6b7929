"""Two sites that run different manifests: the fields in which they differ are named to both.

Who asked under a manifest that is not run there hands it over, and the answer names the fields.
Both sites are members of both manifests: otherwise neither would have talked to the other.
"""

from __future__ import annotations

from dpdl.errors import InputError
from dpdl.peer.documents import differing_fields, table_of
from dpdl.peer.wire import LARGEST_DOCUMENT
from dpdl.text import sentence

MOST = 4
"""Fields that are named; there may be more."""
LONGEST = 40
"""Characters of a name: it is taken from what another site sent."""


def difference(mine: bytes, theirs: bytes) -> str:
    """In what two manifests differ, in words; empty for what is no manifest."""
    try:
        a, b = (table_of(one, "manifest", LARGEST_DOCUMENT) for one in (mine, theirs))
    except InputError:
        return ""
    fields = [sentence(name, LONGEST) for name in differing_fields(a, b)]
    if not fields:
        return "they differ in comments or spaces only"
    more = f" and {len(fields) - MOST} more" if len(fields) > MOST else ""
    return f"they differ in {', '.join(fields[:MOST])}{more}"
