"""`round.key` has the secrets of two rounds, whatever happens to it, and never older ones."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from dpdl.errors import InputError
from dpdl.peer.round_key import BLOCK, RoundKey

KEYS = 4


def secrets(round: int, count: int = KEYS) -> tuple[bytes, ...]:
    """Secrets that can be told apart."""
    return tuple(bytes([round, k]) * 16 for k in range(count))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "round.key"


def begun(path: Path, rounds: int) -> RoundKey:
    """A file after so many rounds have begun."""
    keys = RoundKey.create(path, KEYS)
    for t in range(1, rounds + 1):
        keys.begin(0, t, secrets(t))
    return keys


# ------------------------------------------------------------------ what is kept
def test_a_new_file_has_no_secrets_and_is_nobody_elses(path: Path) -> None:
    keys = RoundKey.create(path, KEYS)
    assert keys.last() is None
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(InputError, match="no secrets of round 1"):
        keys.material(0, 1)


def test_the_last_two_rounds_can_be_read_again(path: Path) -> None:
    begun(path, 7)
    keys = RoundKey(path)
    assert keys.last() == (0, 7, secrets(7))
    assert keys.material(0, 7) == secrets(7)
    assert keys.material(0, 6) == secrets(6)
    for view, round in ((0, 5), (0, 8), (1, 7)):
        with pytest.raises(
            InputError, match=f"no secrets of round {round}, .*--nobody"
        ):
            keys.material(view, round)


def test_after_thirty_rounds_no_older_secret_is_in_the_file(path: Path) -> None:
    keys = begun(path, 30)
    content = path.read_bytes()
    old = [key for t in range(1, 29) for key in secrets(t)]
    assert not [key for key in old if key in content or key[:8] in content]
    assert all(key in content for t in (29, 30) for key in secrets(t))
    assert keys.material(0, 29) == secrets(29)


def test_places_are_used_in_turn_also_where_round_numbers_skip(path: Path) -> None:
    """By the count of begun rounds: a place by parity would keep round 2 and lose round 4."""
    keys = RoundKey.create(path, KEYS)
    for t in (2, 4, 6, 9, 11):
        keys.begin(0, t, secrets(t))
    assert keys.material(0, 9) == secrets(9)
    assert keys.material(0, 11) == secrets(11)
    assert secrets(6)[0] not in path.read_bytes()


def test_fewer_secrets_leave_nothing_of_more(path: Path) -> None:
    keys = begun(path, 2)
    keys.begin(1, 3, secrets(3, 1))
    keys.begin(1, 4, secrets(4, 1))
    content = path.read_bytes()
    assert not [key for t in (1, 2) for key in secrets(t) if key in content]
    assert keys.material(1, 3) == secrets(3, 1)


def test_a_round_that_is_begun_again_keeps_the_round_before(path: Path) -> None:
    """Killed between the secret and the database, as often as you like."""
    keys = begun(path, 5)
    for again in (60, 61, 62):
        keys.begin(0, 6, secrets(again))
        assert keys.material(0, 5) == secrets(5)
        assert keys.material(0, 6) == secrets(again)
    assert secrets(61)[0] not in path.read_bytes()


def test_many_secrets_take_more_blocks(path: Path) -> None:
    many = tuple(os.urandom(32) for _ in range(300))
    keys = RoundKey.create(path, 300)
    for t in (1, 2, 3):
        keys.begin(0, t, many)
    assert path.stat().st_size == 2 * 3 * BLOCK
    assert keys.material(0, 2) == keys.material(0, 3) == many


def test_erased_secrets_are_gone(path: Path) -> None:
    keys = begun(path, 3)
    keys.erase()
    assert not any(path.read_bytes())
    assert keys.last() is None


# ------------------------------------------------------------------ damage
def places_of(content: bytes) -> list[int]:
    """Where something is written, in both places."""
    half = len(content) // 2
    used = 4 * 8 + KEYS * 32 + 32
    return [*range(used), *range(half, half + used)]


def test_a_place_with_a_flipped_byte_is_not_believed(path: Path) -> None:
    begun(path, 4)
    content = path.read_bytes()
    half = len(content) // 2  # round 4 is in the first half: the count is even
    for k in [*places_of(content), half - 1, len(content) - 1]:
        torn = bytearray(content)
        torn[k] ^= 0x01
        path.write_bytes(torn)
        keys = RoundKey(path)
        lost, kept = (4, 3) if k < half else (3, 4)
        assert keys.last() == (0, kept, secrets(kept))
        with pytest.raises(InputError, match=f"no secrets of round {lost}"):
            keys.material(0, lost)


def test_a_torn_write_leaves_the_round_before_and_can_be_written_again(
    path: Path,
) -> None:
    """The place of round 3 is overwritten by round 5 and cut off anywhere."""
    begun(path, 4)
    before = path.read_bytes()
    RoundKey(path).begin(0, 5, secrets(5))
    after = path.read_bytes()
    cuts = [k for k in places_of(before) if k > len(before) // 2]
    for cut in cuts[::3]:
        path.write_bytes(after[:cut] + before[cut:])
        keys = RoundKey(path)
        assert keys.material(0, 4) == secrets(4)
        keys.begin(0, 5, secrets(50))
        assert keys.material(0, 4) == secrets(4)
        assert keys.material(0, 5) == secrets(50)


def test_two_torn_places_are_damage_not_a_new_file(path: Path) -> None:
    keys = begun(path, 4)
    torn = bytearray(path.read_bytes())
    torn[40] ^= 1
    torn[len(torn) // 2 + 40] ^= 1
    path.write_bytes(torn)
    for use in (
        lambda: RoundKey(path),
        keys.last,
        lambda: keys.material(0, 4),
        lambda: keys.begin(0, 5, secrets(5)),
    ):
        with pytest.raises(InputError, match=r"round\.key' is damaged.*--nobody"):
            use()
    assert path.read_bytes() == torn


def test_a_file_that_was_cut_off_is_refused(path: Path) -> None:
    begun(path, 4)
    content = path.read_bytes()
    for length in (0, 1, 100, BLOCK, len(content) - 1):
        path.write_bytes(content[:length])
        with pytest.raises(InputError, match="is damaged"):
            RoundKey(path)


def test_a_view_that_begins_takes_a_new_file_only_for_one_that_is_lost(
    path: Path,
) -> None:
    begun(path, 7)
    assert RoundKey.renewed(path, KEYS).last() == (0, 7, secrets(7))
    whole = path.read_bytes()
    for damage in (None, whole[:100], b"x" * len(whole)):
        path.unlink()
        if damage is not None:
            path.write_bytes(damage)
            path.chmod(0o600)
        assert RoundKey.renewed(path, KEYS).last() is None
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_lost_file_is_named_with_the_remedy(path: Path) -> None:
    keys = begun(path, 1)
    path.unlink()
    with pytest.raises(InputError, match=r"round\.key' cannot be opened: .*--nobody"):
        keys.material(0, 1)
    with pytest.raises(InputError, match="cannot be opened"):
        RoundKey(path)


def test_what_others_can_read_or_what_is_no_file_is_refused(path: Path) -> None:
    begun(path, 1)
    path.chmod(0o640)
    with pytest.raises(InputError, match=r"can be read by others \(mode 640\)"):
        RoundKey(path)
    path.unlink()
    path.mkdir()
    with pytest.raises(InputError, match="is not a file"):
        RoundKey(path)
    path.rmdir()
    os.mkfifo(path, 0o600)
    with pytest.raises(InputError, match="is not a file"):
        RoundKey(path)


def test_a_file_is_never_replaced(path: Path) -> None:
    begun(path, 1)
    with pytest.raises(InputError, match="exists"):
        RoundKey.create(path, KEYS)
    assert RoundKey(path).material(0, 1) == secrets(1)


@pytest.mark.parametrize(
    "material", [(), (b"short",), (bytes(32), bytes(33)), (bytes(32),) * 200]
)
def test_what_is_no_material_is_not_written(path: Path, material) -> None:
    keys = begun(path, 2)
    before = path.read_bytes()
    with pytest.raises(ValueError, match="secrets"):
        keys.begin(0, 3, material)
    assert path.read_bytes() == before


def test_nothing_shows_a_secret(path: Path) -> None:
    keys = begun(path, 2)
    shown = repr(keys) + str(vars(keys)) + repr(keys._last())
    for key in secrets(2):
        assert repr(key)[2:-1] not in shown
