"""What commands printed before there were records, and how it is compared."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parent / "examples"


def stored(name: str) -> Any:
    """The JSON object that was printed."""
    return json.loads((EXAMPLES / f"{name}.json").read_text())


def same(found: Any, expected: Any) -> bool:
    """Whether keys, their order, types and values are the same; floats but for the last bits."""
    if type(found) is not type(expected):
        return False
    if isinstance(found, dict):
        keys = list(found) == list(expected)
        return keys and all(same(found[key], expected[key]) for key in found)
    if isinstance(found, list):
        pairs = zip(found, expected, strict=False)
        return len(found) == len(expected) and all(same(a, b) for a, b in pairs)
    if isinstance(found, float):
        return math.isclose(found, expected, rel_tol=1e-6)
    return found == expected
