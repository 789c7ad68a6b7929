"""Which fields of two manifests differ is said in a few words, whatever was sent."""

from __future__ import annotations

import pytest

from dpdl.peer.manifest import Manifest, Rules, differing
from dpdl.peer.other_manifest import difference
from tests.peer.agreements import agreed, manifest

MINE = manifest().content


def test_the_field_that_differs_is_named():
    other = agreed(rules=Rules(alarm_minutes=7))
    assert differing(manifest(), Manifest.parse(other)) == ["rules.alarm_minutes"]
    assert difference(MINE, other) == "they differ in rules.alarm_minutes"
    assert difference(MINE, MINE + b"# read by me\n") == (
        "they differ in comments or spaces only"
    )


def test_of_many_fields_the_first_are_named():
    table = "".join(f"field{k} = {k}\n" for k in range(9)).encode()
    found = difference(b"", table)
    assert found == "they differ in field0, field1, field2, field3 and 5 more"
    assert len(difference(b"", b'"' + b"x" * 9000 + b'" = 1')) < 100
    assert "\n" not in difference(b"", b'"a\\nb\\u001b[31m" = 1')


@pytest.mark.parametrize("content", [b"", b"\xff", b"= 1", b"x" * 65537])
def test_what_is_no_manifest_is_not_compared(content: bytes):
    assert difference(MINE, content or b"[") == ""
