"""Which two data sets are compared: they differ in one record of one agent, and in nothing else that is public."""

from __future__ import annotations

CHANGES = {"add-remove": "added or removed", "replace-one": "replaced"}
"""Name of a relation, and what happens to the record."""
