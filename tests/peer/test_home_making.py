"""A new site has keys that nobody else can read, or nothing at all."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from dpdl.errors import InputError
from dpdl.peer.certificates import der_of, make_certificate
from dpdl.peer.contacts import read_card
from dpdl.peer.home_making import NewSite, given_pair, make_home, port_of
from dpdl.peer.site_settings import read_settings

NOW = datetime(2030, 6, 1, tzinfo=UTC)


def test_all_files_are_there_and_keys_are_private(tmp_path: Path) -> None:
    home = tmp_path / "deep" / "peer"
    make_home(home, NewSite("mercy", "https://mercy.example:8443"), NOW)
    assert home.stat().st_mode & 0o777 == 0o700
    modes = {file.name: file.stat().st_mode & 0o777 for file in home.iterdir()}
    assert sorted(modes) == [
        *("card.toml", "contacts", "id.key", "peer.toml", "runs", "tls.crt"),
        *("tls.key", "x25519.key"),
    ]
    assert {modes[name] for name in modes if name.endswith(".key")} == {0o600}
    card = read_card(home / "card.toml")
    assert (card.name, card.serial, card.time) == ("mercy", 1, "2030-06-01T00:00:00Z")
    assert card.der == der_of((home / "tls.crt").read_bytes())


@pytest.mark.parametrize(
    ("site", "listen"),
    [
        (NewSite("a", "https://a:8443"), "0.0.0.0:8443"),
        (NewSite("a", "https://a"), "0.0.0.0:443"),
        (NewSite("a", "https://a:8443", "127.0.0.1:9"), "127.0.0.1:9"),
        (NewSite("a"), None),
    ],
)
def test_a_site_listens_where_others_reach_it(
    site: NewSite, listen: str | None, tmp_path: Path
) -> None:
    make_home(tmp_path / "a", site)
    assert read_settings(tmp_path / "a" / "peer.toml").listen == listen


@pytest.mark.parametrize(
    ("url", "port"),
    [("https://a", 443), ("https://a:1/", 1), ("https://[::1]", 443), ("https://[::1]:7", 7)],
)  # fmt: skip
def test_the_port_of_an_address(url: str, port: int) -> None:
    assert port_of(url) == port


@pytest.mark.parametrize(
    ("site", "said"),
    [
        (NewSite("St. Olav"), "name of a site must be 1 to 40 small letters"),
        (NewSite("a", "http://a"), "url must be https://HOST"),
        (NewSite("a", mailbox="a"), "mailbox must be https://HOST"),
        (NewSite("a", listen="a"), "listen must be HOST:PORT"),
        (NewSite("a", proxy="a"), "proxy must be http://HOST:PORT"),
        (NewSite("a", tls_cert=Path("a")), "Give both --tls-cert and --tls-key"),
        (
            NewSite("a", tls_cert=Path("a"), tls_key=Path("b")),
            "cannot be read: No such",
        ),
    ],
)
def test_what_is_wrong_leaves_nothing_behind(
    site: NewSite, said: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=said):
        make_home(tmp_path / "a", site)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_holds_something_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("mine")
    with pytest.raises(InputError, match="is not empty; keys are never written over"):
        make_home(tmp_path, NewSite("a"))
    assert [file.name for file in tmp_path.iterdir()] == ["x"]
    with pytest.raises(InputError, match=r"cannot be made: (Not a dir|File exists)"):
        make_home(tmp_path / "x" / "peer", NewSite("a"))
    with pytest.raises(InputError, match="cannot be made: Not a directory"):
        make_home(tmp_path / "x", NewSite("a"))


def test_a_certificate_of_the_hospital_is_kept_without_its_issuers(
    tmp_path: Path,
) -> None:
    key, own = make_certificate("mercy")
    (tmp_path / "key").write_bytes(key)
    (tmp_path / "crt").write_bytes(own + make_certificate("issuer")[1])
    site = NewSite("a", tls_cert=tmp_path / "crt", tls_key=tmp_path / "key")
    make_home(tmp_path / "a", site)
    kept = (tmp_path / "a" / "tls.crt").read_bytes()
    assert kept.count(b"BEGIN CERTIFICATE") == 1
    assert der_of(kept) == der_of(own) == read_card(tmp_path / "a" / "card.toml").der
    assert (tmp_path / "a" / "tls.key").stat().st_mode & 0o777 == 0o600


def test_a_certificate_that_is_no_pair_or_over_is_refused(tmp_path: Path) -> None:
    key, own = make_certificate("mercy", days=10, now=NOW)
    (tmp_path / "key").write_bytes(make_certificate("mercy")[0])
    (tmp_path / "crt").write_bytes(own)
    with pytest.raises(InputError, match="they are no pair"):
        given_pair(tmp_path / "crt", tmp_path / "key", NOW)
    (tmp_path / "key").write_bytes(key)
    with pytest.raises(InputError, match="expired on 2030-06-11"):
        given_pair(tmp_path / "crt", tmp_path / "key", datetime(2031, 1, 1, tzinfo=UTC))
