"""Who listens: names, keys in JSON, and what is refused."""

from __future__ import annotations

import pytest

from dpdl.errors import InputError
from dpdl.privacy.threats import (
    DEFAULT_THREATS,
    EAVESDROPPER,
    FINAL_MODEL,
    ONE_NEIGHBOUR,
    Threat,
    threat,
)


@pytest.mark.parametrize(
    ("text", "found", "key"),
    [
        ("eavesdropper", EAVESDROPPER, "eavesdropper"),
        ("final-model", FINAL_MODEL, "final_model"),
        ("neighbours:1", ONE_NEIGHBOUR, "neighbour"),
        ("neighbours:12", Threat("neighbours", 12), "neighbours:12"),
    ],
)
def test_a_text_names_a_threat_and_the_threat_its_key(
    text: str, found: Threat, key: str
) -> None:
    assert threat(text) == found
    assert str(found) == text
    assert found.key == key


def test_every_run_reports_three_of_them() -> None:
    keys = [one.key for one in DEFAULT_THREATS]
    assert keys == ["eavesdropper", "neighbour", "final_model"]


@pytest.mark.parametrize("count", ["", "0", "-1", "1.5", "two", "²", "٣"])
def test_a_coalition_has_a_whole_number_of_members(count: str) -> None:
    with pytest.raises(InputError, match="neighbours:K with K a whole number"):
        threat(f"neighbours:{count}")


@pytest.mark.parametrize(
    "text", ["", "eavesdroper", "eavesdropper:2", "final-model:1", "Neighbours:1"]
)
def test_another_name_is_refused_with_those_there_are(text: str) -> None:
    with pytest.raises(InputError, match="eavesdropper, final-model, neighbours:K"):
        threat(text)
