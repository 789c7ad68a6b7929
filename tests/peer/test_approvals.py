from __future__ import annotations

import pytest

from dpdl.errors import InputError
from dpdl.peer.approval import Approval
from dpdl.peer.approvals import KIND, Approvals
from dpdl.peer.keys import AgreementKey
from dpdl.peer.store import Store
from tests.peer.agreements import NAMES, manifest, signing


@pytest.fixture
def store(tmp_path):
    with Store.create(tmp_path, manifest().hash, "a build", b"state") as found:
        yield found


def text(name: str, run: str = "", signer: str = "") -> bytes:
    key = AgreementKey.create().public
    when = "2030-06-01T12:00:00Z"
    found = Approval(run or manifest().hash, name, when, "A Person", key)
    return found.text(signing(signer or name))


def test_approvals_are_counted_until_none_is_missing(store):
    approvals = Approvals(manifest(), store)
    for k, name in enumerate(NAMES):
        assert approvals.missing() == list(NAMES[k:])
        approvals.accept(name, text(name))
    assert approvals.missing() == []
    assert set(approvals.agreements()) == set(NAMES)


def test_those_in_the_folder_are_taken(store, tmp_path):
    (tmp_path / f"approval-{NAMES[1]}.toml").write_bytes(text(NAMES[1]))
    approvals = Approvals(manifest(), store)
    approvals.collect(tmp_path)
    assert approvals.missing() == [NAMES[0], NAMES[2]]


def test_a_second_approval_with_another_key_is_refused(store):
    approvals = Approvals(manifest(), store)
    first = text(NAMES[0])
    approvals.accept(NAMES[0], first)
    approvals.accept(NAMES[0], first)
    with pytest.raises(InputError, match="twice, with different keys"):
        approvals.accept(NAMES[0], text(NAMES[0]))
    assert store.documents(KIND)[NAMES[0]] == first


@pytest.mark.parametrize(
    "content",
    [
        text("mercy", run="ab" * 32),
        text("mercy", signer="vita"),
        text("vita"),
        b"nothing",
    ],
    ids=["another run", "another signer", "another member", "no document"],
)
def test_what_is_not_the_members_approval_is_refused(store, content):
    with pytest.raises(InputError):
        Approvals(manifest(), store).accept("mercy", content)
    assert not store.documents(KIND)


def test_a_stranger_has_nothing_to_approve(store):
    with pytest.raises(InputError, match="no member"):
        Approvals(manifest(), store).accept("rosa", text("mercy"))
