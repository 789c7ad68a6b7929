"""Approvals: signed by the member, about one manifest, with a key of their own."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpdl.errors import InputError
from dpdl.peer.approval import Approval, Withdrawal
from dpdl.peer.keys import AgreementKey
from dpdl.peer.signed import DOMAIN, signed_text
from dpdl.records import JsonObject
from tests.peer import damaged
from tests.peer.agreements import manifest, signing

KEY = signing("mercy")
RUN = manifest().hash
FRESH = AgreementKey.create().public
APPROVAL = Approval(RUN, "mercy", "2030-06-01T12:00:00+00:00", "Ann Lee", FRESH)
CONTENT = APPROVAL.text(KEY)


def read(content: bytes) -> Approval:
    return Approval.parse(content, KEY.public, RUN)


def test_an_approval_is_read_as_it_was_signed() -> None:
    assert read(CONTENT) == APPROVAL


def test_an_approval_of_another_manifest_is_refused() -> None:
    with pytest.raises(
        InputError, match=r"approval of mercy is about run .*, not 0000"
    ):
        Approval.parse(CONTENT, KEY.public, "0" * 64)


def test_an_approval_of_another_member_is_refused() -> None:
    with pytest.raises(InputError, match="approval is not signed with the key"):
        Approval.parse(CONTENT, signing("st-olav").public, RUN)


def test_a_withdrawal_is_no_approval_and_the_other_way_round() -> None:
    said = Withdrawal(RUN, "mercy", "2030-06-01T12:00:00Z", "Ann Lee")
    text = said.text(KEY)
    assert Withdrawal.parse(text, KEY.public, RUN) == said
    with pytest.raises(InputError, match="approval has no 'agreement'"):
        read(text)
    with pytest.raises(InputError, match="withdrawal has an unknown field 'agreement'"):
        Withdrawal.parse(CONTENT, KEY.public, RUN)


def test_every_changed_byte_is_noticed() -> None:
    for bit in range(8 * len(CONTENT)):
        changed = bytearray(CONTENT)
        changed[bit // 8] ^= 1 << bit % 8
        assert damaged.read(read, bytes(changed)) is None, bit


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("manifest", "ab", r"approval\.manifest must be 64 hexadecimal"),
        ("name", "?", r"approval\.name must be 1 to 40"),
        ("time", "now", r"approval\.time must be a time"),
        ("person", "", r"approval\.person must be the name of a person"),
        ("person", "a\nb", r"approval\.person must be the name of a person"),
        ("agreement", "ab", r"approval\.agreement must be 64 hexadecimal"),
        ("agreement", "00" * 32, "small order"),
        ("more", 1, "approval has an unknown field 'more'"),
    ],
)
def test_a_wrong_field_is_named(field: str, value: object, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read(signed_text({**APPROVAL.to_json(), field: value}, KEY))


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=300))
def test_no_bytes_break_the_reader(content: bytes) -> None:
    assert damaged.read(read, content) is None


@settings(max_examples=200, deadline=None)
@given(damaged.broken_text(CONTENT))
def test_damage_is_refused(content: bytes) -> None:
    found = damaged.read(read, content)
    assert (found is not None) == (content == CONTENT)


@settings(max_examples=300, deadline=None)
@given(damaged.broken_table(APPROVAL.to_json()))
def test_whatever_a_member_signs_is_an_approval_or_refused(found: JsonObject) -> None:
    content = signed_text(found, KEY)
    said = damaged.read(read, content)
    assert said is None or said.to_json() == found


@pytest.mark.parametrize("inner", ["[],", "{},", "0,"])
def test_reading_takes_no_more_memory_than_is_bounded(inner: str) -> None:
    body = f"a = [{inner * (64000 // len(inner))}]\n".encode()
    last = f'signature = "{KEY.sign(DOMAIN + body).hex()}"\n'.encode()
    assert tomllib.loads(body.decode())
    assert damaged.peak(read, body + last) < 200 * 65536
