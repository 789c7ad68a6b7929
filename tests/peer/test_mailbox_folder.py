from __future__ import annotations

import pytest

from dpdl.peer.failures import Refused
from dpdl.peer.mailbox_folder import DAY, Bounds, MailFolder
from dpdl.peer.mailbox_request import BoxPath, Item

RUN = "ab" * 32
BOX = BoxPath(RUN, "olav")


def place(number: int, source: str = "mercy") -> BoxPath:
    return BOX._replace(item=Item(source, "call", f"{number:032x}"))


def put(folder: MailFolder, where: BoxPath, content: bytes) -> None:
    assert where.item is not None
    with folder.reserved(where.item.source, len(content)):
        folder.write(where, content)
    folder.show(where, len(content))


def test_envelopes_come_out_in_the_order_in_which_they_came(tmp_path):
    folder = MailFolder(tmp_path, Bounds())
    for k in (2, 1):
        put(folder, place(k), b"%d" % k)
    for k in (2, 1):
        found = folder.oldest(BOX)
        assert found == place(k)
        assert folder.read(found) == b"%d" % k
        folder.remove(found)
    assert folder.oldest(BOX) is None
    assert folder.read(place(1)) is None


def test_another_process_finds_what_is_there_and_removes_what_is_half(tmp_path):
    put(MailFolder(tmp_path, Bounds()), place(1), b"one")
    half = tmp_path / RUN / "olav" / ".half"
    half.write_bytes(b"on")
    again = MailFolder(tmp_path, Bounds(envelopes=1))
    assert again.oldest(BOX) == place(1)
    assert not half.exists()
    with pytest.raises(Refused, match="mercy has 1 envelopes here that nobody fetched"):
        put(again, place(2), b"two")


def test_each_member_has_a_quota_of_its_own(tmp_path):
    folder = MailFolder(tmp_path, Bounds(quota=10, largest=8))
    put(folder, place(1), bytes(6))
    with pytest.raises(
        Refused, match=r"mercy has 6 bytes .* and may have 10\."
    ) as caught:
        put(folder, place(2), bytes(5))
    assert caught.value.status == 507
    put(folder, place(1), bytes(4))  # in place of the other one
    put(folder, place(2), bytes(6))
    put(folder, place(3, "vita"), bytes(8))
    with pytest.raises(Refused, match="9 bytes, at most 8 are taken"):
        put(folder, place(4, "vita"), bytes(9))
    folder.remove(place(1))
    folder.remove(place(1))  # it is counted once
    put(folder, place(5), bytes(4))
    with pytest.raises(Refused):
        put(folder, place(6), bytes(1))


def test_what_is_on_its_way_counts_and_what_failed_does_not(tmp_path):
    folder = MailFolder(tmp_path, Bounds(quota=10))
    with folder.reserved("mercy", 6), pytest.raises(Refused):
        put(folder, place(1), bytes(6))
    put(folder, place(1), bytes(6))


def test_what_is_older_than_14_days_is_deleted(tmp_path):
    now = [1e9]
    folder = MailFolder(tmp_path, Bounds(), lambda: now[0])
    put(folder, place(1), b"one")
    now[0] += 14 * DAY - 1
    put(folder, place(2), b"two")
    folder.sweep()
    assert folder.oldest(BOX) == place(1)
    now[0] += 2
    folder.sweep()
    assert folder.oldest(BOX) == place(2)
    folder.remove(place(2))
    folder.sweep()
    assert list(tmp_path.iterdir()) == []
