"""Peers that are built wrong on purpose: what watches over the right ones must notice each.

a fresh secret at restart, and no comparison    pins, hello and the auditor
released before it is committed                 hello
noise that does not depend on the row           the difference of two answers
secrets in the database                         a search of all files
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from dpdl.errors import RunFailed
from dpdl.peer.failures import Rollback, Violation
from dpdl.peer.frame import Frame, FrameHead, Slot, digest_of, make_frame
from dpdl.peer.frame_bytes import encode
from dpdl.peer.hello import Greeter
from dpdl.peer.material import material_for
from dpdl.peer.round_key import RoundKey
from dpdl.peer.store import Store
from dpdl.privacy.grid import perturb_on_grid
from dpdl.privacy.sealed import Sealed
from dpdl.transport import Address
from tests.peer.group import Arrived, said_twice
from tests.peer.posts import KEYS, NAMES, RUN, Heads, Wires, peers_of, stores_in

PUBLIC = {name: key.public for name, key in KEYS.items()}
LIKE = torch.zeros(1, 64)
SLOT = Slot(0, 1, 0)
STEP = Address(1, "gradient", 0)


@pytest.fixture
def stores(tmp_path: Path):
    found = stores_in(tmp_path)
    for store in found.values():
        store.begin(1, b"state 0", 0)
    yield found
    for store in found.values():
        store.close()


def noisy(secret: bytes) -> torch.Tensor:
    """What mercy answers in round 1."""
    sealed, out = Sealed(), torch.zeros(64)
    sealed.begin(secret)
    sealed.perturb(torch.ones(64), 1.0, "gradient", 1, 0, 0, into=out)
    return out[None]


def says(stores: dict[str, Store], rows: torch.Tensor) -> None:
    """mercy sends olav these rows."""
    peers_of("mercy", stores, Wires("mercy", stores)).swap(STEP, {1: rows}, {}, LIKE)


def takes(stores: dict[str, Store], wires: Wires | None = None) -> None:
    """olav receives what mercy sends, and makes it durable that it did."""
    olav = peers_of("olav", stores, wires or Wires("olav", stores))
    olav.swap(STEP, {}, {0: 1}, LIKE)
    olav.swap(Address(1, "next", 1), {0: torch.zeros(1, 64)}, {}, LIKE)


def greeter(stores: dict[str, Store], name: str) -> Greeter:
    ledger, done = Heads(), (lambda: 0)
    key, store = KEYS[name], stores[name]
    return Greeter(RUN, name, key, PUBLIC, store, 1, "aa", ledger, done)


def greets(stores: dict[str, Store]) -> None:
    """mercy has started again, and olav shows it the last frame that it has."""
    text = greeter(stores, "olav").text_for("mercy")
    greeter(stores, "mercy").judged("olav", text)


# ------------------------------------------------------------------ fresh secrets
def test_a_secret_that_is_kept_gives_the_same_frame_and_everybody_is_content(stores):
    secret = os.urandom(32)
    says(stores, noisy(secret))
    takes(stores)
    greets(stores)
    says(stores, noisy(secret))


def test_a_fresh_secret_at_a_restart_is_stopped_by_the_comparison(stores):
    says(stores, noisy(os.urandom(32)))
    with pytest.raises(RunFailed, match="gave another frame for olav"):
        says(stores, noisy(os.urandom(32)))


def test_a_fresh_secret_without_a_comparison_is_noticed_by_the_others(stores, tmp_path):
    says(stores, noisy(os.urandom(32)))
    takes(stores)
    (tmp_path / "without").mkdir()
    forgetful = stores_in(tmp_path / "without")  # has nothing to compare with
    try:
        forgetful["mercy"].begin(1, b"state 0", 0)
        says(forgetful, noisy(os.urandom(32)))
        mixed = {**stores, "mercy": forgetful["mercy"]}
        with pytest.raises(Rollback, match="olav has a frame of round 1"):
            greets(mixed)
        with pytest.raises(Violation, match="mercy signed two different frames"):
            takes(mixed)
        frames = [
            stores["mercy"].frame(SLOT, "olav"),
            mixed["mercy"].frame(SLOT, "olav"),
        ]
        arrived = [noted(content) for content in frames if content is not None]
        assert said_twice(arrived) == [arrived[1]]
        assert said_twice([arrived[0], arrived[0]]) == []
    finally:
        for store in forgetful.values():
            store.close()


def noted(content: bytes) -> Arrived:
    """What an auditor writes down."""
    return Arrived(*SLOT, "mercy", "olav", "gradient", digest_of(content))


# ------------------------------------------------------------------ too early
class Crash(Exception):
    """The process ends here."""


class Hasty:
    """Hands out what mercy has made, before it is in mercy's database."""

    def __init__(self, rows: torch.Tensor) -> None:
        payload = rows.numpy().tobytes()
        head = FrameHead(
            run=RUN,
            view=0,
            round=1,
            step=0,
            channel="gradient",
            source="mercy",
            target="olav",
            dtype="float32",
            shape=(1, 64),
        )
        self._made: Frame = make_frame(head, payload, KEYS["mercy"])

    def frame(self, slot: Slot, target: str) -> bytes | None:
        return encode(self._made) if slot == SLOT else None


def crashing(point: str) -> Callable[[str], None]:
    def reach(here: str) -> None:
        if here == point:
            raise Crash

    return reach


@pytest.mark.parametrize("point", ["outbox:before", "outbox:inside"])
def test_nothing_can_be_had_before_it_is_committed(stores, tmp_path, point):
    stores["mercy"].close()
    stores["mercy"] = Store(tmp_path / "mercy", crashing(point))
    with pytest.raises(Crash):
        says(stores, noisy(os.urandom(32)))
    assert stores["mercy"].frame(SLOT, "olav") is None
    greets(stores)


def test_a_frame_that_left_before_it_was_committed_is_noticed_at_the_restart(stores):
    early = Hasty(noisy(os.urandom(32)))
    takes(stores, Wires("olav", {**stores, "mercy": early}))  # and mercy dies
    with pytest.raises(Rollback, match="olav has a frame of round 1"):
        greets(stores)


# ------------------------------------------------------------------ noise without the row
class Rowless:
    """As `Sealed`, but the noise is the same whatever it hides."""

    def __init__(self) -> None:
        self._secret = b""

    def begin(self, secret: bytes) -> None:
        self._secret = secret

    def perturb(
        self, row: torch.Tensor, std: float, purpose: str, *where: int, into
    ) -> None:
        perturb_on_grid(self._secret, row.numpy(), std, into.numpy())


def shown_by_two_answers(made: Callable[[], Sealed | Rowless]) -> float:
    """How well the difference of two answers to two models shows that of the gradients."""
    secret = os.urandom(32)
    dice = np.random.default_rng(5)
    rows = torch.from_numpy(dice.normal(size=(2, 4096)).astype("float32"))
    out = torch.zeros_like(rows)
    for k in range(2):  # the round is run again, and the neighbour sends another model
        one = made()
        one.begin(secret)
        one.perturb(rows[k], 50.0, "gradient", 1, 0, 1, into=out[k])
    hidden, seen = rows[0] - rows[1], out[0] - out[1]
    return float(torch.cosine_similarity(hidden, seen, dim=0))


def test_two_answers_in_one_round_show_nothing_because_the_noise_knows_its_row():
    assert abs(shown_by_two_answers(Sealed)) < 0.1
    assert shown_by_two_answers(Rowless) > 0.999, "this is what it prevents"


# ------------------------------------------------------------------ secrets in the database
def left_behind(folder: Path, secrets: list[bytes]) -> int:
    """How many of these secrets are in any file of a folder, in bytes or as text."""
    contents = [file.read_bytes() for file in folder.rglob("*") if file.is_file()]
    found = [
        any(one in content or one.hex().encode() in content for content in contents)
        for one in secrets
    ]
    return sum(found)


def kept_in_key(store: Store, key: RoundKey, round: int) -> bytes:
    return material_for(key, 0, round, (), dict).secret


def kept_in_database(store: Store, key: RoundKey, round: int) -> bytes:
    secret = os.urandom(32)
    store.put_document("secret", str(round % 2), secret)
    return secret


@pytest.mark.parametrize(
    ("keep", "most"), [(kept_in_key, 2), (kept_in_database, 30)], ids=["right", "wrong"]
)
def test_old_secrets_are_in_no_file(stores, tmp_path, keep, most):
    store, secrets = stores["mercy"], []
    key = RoundKey.create(tmp_path / "mercy" / "round.key", 1)
    for t in range(2, 32):
        secrets.append(keep(store, key, t))
        store.begin(t, bytes(1000), t - 1)
    found = left_behind(tmp_path / "mercy", secrets)
    assert found == most if most == 2 else found > 2


def test_a_run_that_has_ended_leaves_two_secrets_at_most(ended):
    for number in range(len(NAMES)):
        secrets = [ended.secret(number, t) for t in range(1, 5)]
        assert left_behind(ended.home(number).path, secrets) <= 2
