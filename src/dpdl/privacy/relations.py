"""Which two data sets are compared: they differ in one record of one agent.

Nothing else that is public differs.
"""

from __future__ import annotations

CHANGES = {"add-remove": "added or removed", "replace-one": "replaced"}
"""Name of a relation, and what happens to the record."""
