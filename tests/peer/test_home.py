"""The folder of a site: opened only if its keys are its own and private."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from dpdl.errors import InputError
from dpdl.folder.data_ledger import DataLedger
from dpdl.peer.certificates import client_context
from dpdl.peer.home import Home
from dpdl.peer.keys import SigningKey
from tests.peer.agreements import card, manifest
from tests.peer.site_files import digits_file

BUDGET = (5.0, 1e-5)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.create(tmp_path / "mercy", "mercy", "https://mercy.example:8443")


# ------------------------------------------------------------------ keys
def test_a_site_is_opened_as_it_was_made(home: Home) -> None:
    again = Home.open(home.path)
    assert again.name == "mercy"
    assert again.signing.public == home.signing.public == home.card.key
    assert again.agreement.public == home.card.agreement
    assert again.card == home.card
    assert "PRIVATE" not in repr(again) and home.signing.public not in repr(again)


@pytest.mark.parametrize("name", ["id.key", "x25519.key", "tls.key"])
def test_a_key_that_others_can_read_is_refused(name: str, home: Home) -> None:
    (home.path / name).chmod(0o640)
    with pytest.raises(InputError, match=f"{name}' can be read by others"):
        Home.open(home.path)


@pytest.mark.parametrize("name", ["id.key", "x25519.key", "tls.key", "card.toml"])
def test_a_missing_file_is_named(name: str, home: Home) -> None:
    (home.path / name).unlink()
    with pytest.raises(InputError, match=f"{name}' cannot be read: No such file"):
        Home.open(home.path)


def test_keys_of_another_site_are_refused(home: Home, tmp_path: Path) -> None:
    (home.path / "id.key").unlink()
    SigningKey.create().write(home.path / "id.key")
    with pytest.raises(InputError, match="is not that of mercy and its keys: restore"):
        Home.open(home.path)


def test_a_folder_without_a_site_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"There is no site in .*dpdl peer init NAME"):
        Home.open(tmp_path)


def test_a_site_shows_itself_as_its_card_says(home: Home) -> None:
    found = home.identity()
    assert (found.name, found.url) == ("mercy", "https://mercy.example:8443")
    assert client_context(found.certificate, found.key, home.card.der)
    settings = home.network_settings()
    assert (settings.host, settings.port, settings.proxy) == ("0.0.0.0", 8443, None)


def test_settings_come_from_the_file_that_people_edit(home: Home) -> None:
    text = (home.path / "peer.toml").read_text()
    text = text.replace("0.0.0.0:8443", "127.0.0.1:9443")
    (home.path / "peer.toml").write_text(f'proxy = "http://proxy:3128"\n{text}')
    found = home.network_settings()
    assert (found.host, found.port) == ("127.0.0.1", 9443)
    assert found.proxy == "http://proxy:3128"


# ------------------------------------------------------------------ certificates
def test_a_rotated_certificate_comes_with_a_newer_card(
    home: Home, tmp_path: Path
) -> None:
    other = Home.create(tmp_path / "olav", "st-olav")
    before = home.card
    other.admit(before)
    after = home.rotate()
    assert after.serial == before.serial + 1 and after.key == before.key
    assert after.der != before.der
    found = Home.open(home.path).identity()
    assert (found.certificate.name, found.key.name) == ("tls-2.crt", "tls-2.key")
    other.admit(after)
    assert other.contact("mercy") == after
    with pytest.raises(InputError, match="is old"):
        other.admit(before)


def test_a_lost_certificate_is_named_and_replaced(home: Home) -> None:
    (home.path / "tls.crt").unlink()
    with pytest.raises(InputError, match=r"certificate of card\.toml is not in"):
        Home.open(home.path).identity()
    Home.open(home.path).rotate()
    assert Home.open(home.path).identity().certificate.name == "tls-2.crt"


def test_half_a_pair_is_refused(home: Home) -> None:
    with pytest.raises(InputError, match="Give both --tls-cert and --tls-key"):
        home.rotate(tls_cert=home.path / "tls.crt")
    assert home.card.serial == 1


def test_a_certificate_without_its_card_is_not_shown(home: Home) -> None:
    """Killed between the two: the old one is still in use."""
    card_before = (home.path / "card.toml").read_bytes()
    home.rotate()
    (home.path / "card.toml").write_bytes(card_before)
    assert Home.open(home.path).identity().certificate.name == "tls.crt"
    home.rotate()
    assert Home.open(home.path).identity().certificate.name == "tls-3.crt"


# ------------------------------------------------------------------ data
def test_data_are_offered_and_have_a_ledger(home: Home, tmp_path: Path) -> None:
    file = digits_file(tmp_path / "a.npz")
    offer = home.add_data("lungs", file, budget=BUDGET, declare=60, like="digits")
    assert home.card.offer("lungs") == offer
    assert home.card.serial == 2
    assert home.data_file("lungs") == file
    assert home.ledger_path("lungs") == tmp_path / "a.npz.dpdl-ledger"
    with DataLedger.open(home.ledger_path("lungs")) as ledger:
        assert (ledger.terms.epsilon, ledger.terms.delta) == BUDGET


def test_the_form_can_be_said_in_words(home: Home, tmp_path: Path) -> None:
    file = digits_file(tmp_path / "a.npz")
    said = {"shape": "1,8,8", "predict": "12 classes"}
    offer = home.add_data("lungs", file, budget=BUDGET, declare=60, **said)
    assert (offer.shape, offer.predict, offer.scaling) == ("1,8,8", "12 classes", None)
    with pytest.raises(InputError, match="Say what a record looks like"):
        home.add_data("knees", file, budget=BUDGET, declare=60, shape="1,8,8")


def test_the_same_data_again_changes_what_is_declared(
    home: Home, tmp_path: Path
) -> None:
    file = digits_file(tmp_path / "a.npz")
    for declare in (60, 70):
        home.add_data("lungs", file, budget=BUDGET, declare=declare, like="digits")
    assert [offer.records for offer in home.card.data] == [70]


def test_a_ledger_is_beside_the_file_and_not_beside_a_link(
    home: Home, tmp_path: Path
) -> None:
    file = digits_file(tmp_path / "a.npz")
    (tmp_path / "link.npz").symlink_to(file)
    home.add_data("x", tmp_path / "link.npz", budget=BUDGET, declare=60, like="digits")
    assert home.ledger_path("x") == tmp_path / "a.npz.dpdl-ledger"


def test_a_ledger_can_be_elsewhere(home: Home, tmp_path: Path) -> None:
    file, place = digits_file(tmp_path / "a.npz"), tmp_path / "books"
    home.add_data("x", file, budget=BUDGET, declare=9, like="digits", ledger=place)
    assert Home.open(home.path).ledger_path("x") == place
    assert place.is_dir()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda h, f: ("other", f.with_name("none.npz"), BUDGET, 60), "none.npz"),
        (lambda h, f: ("Other", f, BUDGET, 60), "name of a data set must be 1 to 40"),
        (lambda h, f: ("other", f, BUDGET, 99), "fewer records for training than the 99"),
        (lambda h, f: ("other", f, (9.0, 1e-5), 60), "has the budget 5:1e-05, and a"),
        (lambda h, f: ("lungs", digits_file(f.with_name("b.npz")), BUDGET, 60), "already"),
        (lambda h, f: ("new", digits_file(f.with_name("c.npz")), (0.0, 1.0), 60), "budget"),
    ],
)  # fmt: skip
def test_wrong_data_change_nothing(
    change: Callable[[Home, Path], tuple[str, Path, tuple[float, float], int]],
    said: str,
    home: Home,
    tmp_path: Path,
) -> None:
    file = digits_file(tmp_path / "a.npz")
    home.add_data("lungs", file, budget=BUDGET, declare=60, like="digits")
    before = {one: (home.path / one).read_bytes() for one in ("card.toml", "peer.toml")}
    name, other, budget, declare = change(home, file)
    with pytest.raises(InputError, match=said):
        home.add_data(name, other, budget=budget, declare=declare, like="digits")
    assert before == {one: (home.path / one).read_bytes() for one in before}


def test_data_that_nobody_offered_are_named(home: Home) -> None:
    with pytest.raises(InputError, match=r"no data set 'knees' \(it has none\)"):
        home.data_file("knees")


# ------------------------------------------------------------------ others, and runs
def test_nobody_else_has_this_sites_name_or_key(home: Home, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="mercy is this site's own name"):
        home.admit(card("mercy"))
    other = Home.create(tmp_path / "b", "vita")
    stolen = other.renew_card(certificate=home.card.certificate)
    with pytest.raises(InputError, match="card of vita has the certificate of mercy"):
        home.admit(stolen)
    assert home.contacts.names() == []


def test_an_admitted_site_is_known(home: Home) -> None:
    assert not home.knows(card("vita"))
    home.admit(card("vita"))
    assert home.knows(card("vita"))
    assert home.contact("vita") == card("vita")


def test_runs_are_found(home: Home) -> None:
    run = manifest()
    folder = home.run_folder(run.hash)
    assert (home.runs(), home.last_manifest()) == ([], None)
    folder.mkdir()
    (folder / "manifest.toml").write_bytes(run.content)
    assert home.find_run(run.hash[:8]) == folder
    assert (home.runs(), home.last_manifest()) == ([folder], run)


def test_a_path_may_be_relative(home: Home, tmp_path: Path) -> None:
    before = Path.cwd()
    try:
        os.chdir(tmp_path)
        assert Home.open(Path("mercy")).path == home.path
    finally:
        os.chdir(before)
