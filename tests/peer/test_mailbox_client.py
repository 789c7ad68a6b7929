from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from dpdl.errors import InputError
from dpdl.peer.mailbox_client import Letter, MailboxClient
from dpdl.peer.mailbox_request import BoxPath, Item
from dpdl.peer.trouble import MailboxTrouble
from dpdl.peer.wire import NetworkSettings
from tests.peer.group import free_ports
from tests.peer.mailboxes import LOOPBACK, mailbox, member, settings_in, web_files
from tests.peer.sites import QUICK

RUN = "ab" * 32
BOX = BoxPath(RUN, "olav")
PLACE = BOX._replace(item=Item("mercy", "call", "0" * 32))
SETTINGS = replace(QUICK, authorities=web_files().authorities)
CARDS = [member(name).card for name in ("mercy", "olav")]


@pytest.fixture
def url(tmp_path):
    with mailbox(settings_in(tmp_path), CARDS) as found:
        yield found


def asked(name: str, work, settings: NetworkSettings = SETTINGS):
    async def run():
        client = MailboxClient(member(name).signing, settings)
        try:
            return await work(client)
        finally:
            await client.close()

    return asyncio.run(run())


def test_what_is_put_is_fetched_and_removed(url):
    asked("mercy", lambda client: client.put(url, PLACE, b"sealed"))
    found = asked("olav", lambda client: client.next(url, BOX, lambda item: 6, 6))
    assert found == Letter(PLACE.item, b"sealed")
    long = asked("olav", lambda client: client.next(url, BOX, lambda item: 5, 5))
    assert long == Letter(PLACE.item, None)  # nothing of it was read
    asked("mercy", lambda client: client.remove(url, PLACE))
    assert asked("olav", lambda one: one.next(url, BOX, lambda item: 6, 6)) is None


def test_what_a_mailbox_refuses_is_told(url):
    with pytest.raises(MailboxTrouble, match=r"answers 403: .*asked for by olav"):
        asked("olav", lambda client: client.put(url, PLACE, b"sealed"))


def test_a_mailbox_that_is_away_or_not_trusted_is_told(url):
    (port,) = free_ports(1)
    away = f"https://{LOOPBACK}:{port}"
    with pytest.raises(MailboxTrouble, match=f"{away} cannot be reached"):
        asked("mercy", lambda client: client.put(away, PLACE, b"sealed"))
    with pytest.raises(
        MailboxTrouble, match="a certificate that this machine does not"
    ):
        asked("mercy", lambda client: client.put(url, PLACE, b"sealed"), QUICK)


def test_authorities_that_cannot_be_read_are_refused():
    settings = replace(QUICK, authorities=Path("nowhere.pem"))
    with pytest.raises(
        InputError, match=r"authorities in 'nowhere\.pem' cannot be read"
    ):
        asked("mercy", lambda client: client.close(), settings)
