from __future__ import annotations

import stat
from datetime import UTC, datetime

import pytest

from dpdl.errors import InputError, PrivacyRefused
from dpdl.folder.data_ledger import DataLedger
from dpdl.peer.approval import Approval
from dpdl.peer.consent import (
    adopt,
    approve,
    epsilon_of,
    own_member,
    withdraw,
)
from dpdl.peer.home import Home
from dpdl.peer.manifest import Manifest
from dpdl.peer.run_folder import PeerRun


def changed(ended, tmp_path, old: bytes, new: bytes) -> PeerRun:
    """A run folder with another manifest."""
    content = ended.manifest.content
    assert old in content
    (tmp_path / "manifest.toml").write_bytes(content.replace(old, new))
    (tmp_path / "initial.safetensors").write_bytes(ended.run(0).initial())
    return PeerRun(tmp_path)


def test_an_approval_reserves_what_the_run_costs(group):
    sites = group(2, graph="complete", rounds=9)
    home, run = sites.home(0), sites.run(0)
    with DataLedger.open(home.ledger_path("digits")) as ledger:
        balance = ledger.run(sites.manifest.hash)
        assert (balance.rounds_left, balance.rounds_spent) == (9, 0)
        epsilon = sites.manifest.privacy.epsilon[0]
        assert ledger.epsilon().reserved == pytest.approx(epsilon, rel=1e-6)
    file = run.approval_file("mercy")
    found = Approval.parse(file.read_bytes(), home.signing.public, sites.manifest.hash)
    assert found.person == "Test Person"
    assert stat.S_IMODE(run.run_key().stat().st_mode) == 0o600
    again = approve(home, run, "Somebody Else")
    assert again == found, "an approval stays as it is"
    withdraw(home, run)
    with DataLedger.open(home.ledger_path("digits")) as ledger:
        assert ledger.run(sites.manifest.hash).rounds_left == 0
    assert not run.run_key().exists()
    assert not file.exists()


def test_a_manifest_that_says_too_small_an_epsilon_is_refused(ended, tmp_path):
    said = ended.manifest.privacy.epsilon
    text = f"epsilon = [{', '.join(map(repr, said))}]".encode()
    small = f"epsilon = [{', '.join(repr(one / 2) for one in said)}]".encode()
    run = changed(ended, tmp_path, text, small)
    with pytest.raises(PrivacyRefused, match="its own numbers give"):
        epsilon_of(ended.home(0), run)


def test_two_runs_on_one_data_set_add_up_and_the_second_is_refused(group):
    sites = group(2, graph="complete", sigma=20.0, budget_epsilon=0.12)
    home, first = sites.home(0), sites.run(0)
    alone = sites.manifest.privacy.epsilon[0]
    assert 0.06 < alone < 0.12
    (sites.path / "manifest.toml").write_bytes(sites.manifest.content + b"\n")
    second = adopt(home, sites.path / "manifest.toml")
    with pytest.raises(PrivacyRefused, match="There is room for"):
        approve(home, second, "Test Person")
    assert not second.approval_file("mercy").exists()
    assert not second.run_key().exists()
    withdraw(home, first)
    assert approve(home, second, "Test Person").manifest == second.manifest().hash


def test_a_site_with_another_key_than_the_manifest_says_is_refused(ended, tmp_path):
    other = Home.create(tmp_path / "mercy", "mercy", None)
    with pytest.raises(InputError, match="another key for mercy"):
        own_member(other, ended.manifest)


def test_a_site_that_is_no_member_is_refused(ended, tmp_path):
    stranger = Home.create(tmp_path / "rosa", "rosa", None)
    with pytest.raises(InputError, match="rosa is no member of this run"):
        own_member(stranger, ended.manifest)


def test_a_manifest_without_its_model_is_refused(ended, tmp_path):
    (tmp_path / "manifest.toml").write_bytes(ended.manifest.content + b"\n")
    with pytest.raises(InputError, match=r"initial\.safetensors"):
        adopt(ended.home(0), tmp_path / "manifest.toml")
    other = Manifest.parse(ended.manifest.content + b"\n")
    assert not ended.home(0).run_folder(other.hash).exists()


def test_a_proposal_ends_on_its_last_day(group):
    sites = group(2, graph="complete")
    content = sites.manifest.content.replace(
        b"[rules]\n", b'[rules]\nends = "2026-01-31"\n'
    )
    (sites.path / "manifest.toml").write_bytes(Manifest.parse(content).content)
    run = adopt(sites.home(0), sites.path / "manifest.toml")
    with pytest.raises(InputError, match="ended on 2026-01-31"):
        approve(sites.home(0), run, "Test Person", datetime(2026, 2, 1, tzinfo=UTC))
