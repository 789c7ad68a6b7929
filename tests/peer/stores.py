"""A store with rounds in it, what it says, and a child process that dies while it writes.

Everything that is written follows from the numbers of the round, the step and the target, so that
what a killed process left can be compared to the last byte. Run as a program, it is the child:

    python -m tests.peer.stores ACTION FOLDER ...
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dpdl.errors import DpdlError
from dpdl.peer.frame import Frame, FrameHead, Slot, digest_of, make_frame
from dpdl.peer.keys import SigningKey
from dpdl.peer.store import Document, Met, Pin, Store, StoreReader

HOME = Path(__file__).parents[2]
RUN = "5e" * 32
KEY = "id.key"
TIMEOUT = 60
NAMES = ("bob", "cyd", "dan")
SMALL, LARGE = 50, 265_000  # numbers of a row; the large one has more than a megabyte


class Writer(NamedTuple):
    """A store, and the key that signs what is put in it."""

    store: Store
    key: SigningKey
    width: int = SMALL

    def frame(self, slot: Slot, target: str) -> Frame:
        """A frame from ann; cyd and dan get the same payload."""
        who = NAMES.index(target) > 0
        seed = [*slot, int(who)]
        row = np.random.default_rng(seed).standard_normal(self.width, np.float32)
        return make_frame(head(slot, target, self.width), row.tobytes(), self.key)

    def frames(self, slot: Slot) -> dict[str, Frame]:
        """Those of an exchange."""
        return {name: self.frame(slot, name) for name in NAMES}

    def commit(self, slot: Slot) -> None:
        """Commit an exchange, and what the one before received."""
        before = slot._replace(step=slot.step - 1)
        self.store.commit(slot, self.frames(slot), pins(before) if slot.step else [])

    def rounds(self, first: int, last: int, steps: int = 2) -> None:
        """Whole rounds, as a run has them."""
        for t in range(first, last + 1):
            self.store.begin(t, state(t - 1, self.width), t - 1)
            for step in range(steps):
                self.commit(Slot(0, t, step))


def head(slot: Slot, target: str, width: int = SMALL) -> FrameHead:
    """The head of a frame from ann."""
    return FrameHead(
        run=RUN,
        view=slot.view,
        round=slot.round,
        step=slot.step,
        channel="model",
        source="ann",
        target=target,
        dtype="float32",
        shape=(1, width),
    )


def pins(slot: Slot) -> list[Pin]:
    """What was received in an exchange."""
    return [Pin(slot, name, f"{name} {slot}".encode(), bytes(64)) for name in NAMES[:2]]


def state(round: int, width: int = SMALL) -> bytes:
    """The state after a round."""
    return np.random.default_rng([99, round]).bytes(4 * width)


def new_store(folder: Path, width: int = SMALL) -> Writer:
    """A run before its first round."""
    key = SigningKey.create()
    key.write(folder / KEY)
    return Writer(Store.create(folder, RUN, "build", state(0)), key, width)


def opened(
    folder: Path, fault: Callable[[str], None] | None = None, width: int = SMALL
) -> Writer:
    """The run in a folder."""
    store = Store(folder, fault) if fault else Store(folder)
    return Writer(store, SigningKey.read(folder / KEY), width)


def told(store: StoreReader) -> dict[str, object]:
    """All that a store says, so that two can be compared."""
    frames = {str(at): _digest(store.frame(*at)) for at in store.outbox()}
    return {
        "here": list(store.here),
        "state": _digest(store.state()),
        "frames": frames,
        "pins": {
            name: [
                str(store.pin(Slot(0, t, step), name))
                for t in range(20)
                for step in range(3)
            ]
            for name in NAMES
        },
        "last": [str(store.last_pin(name)) for name in NAMES],
        "documents": {name: c.hex() for name, c in store.documents("stop").items()},
        "neighbours": [str(store.neighbour(name)) for name in NAMES],
        "events": [event.text for event in store.events()],
        "broken": store.check_events(),
    }


def told_in(folder: Path) -> dict[str, object]:
    """What the store in a folder says when it is opened again."""
    with Store(folder) as store:
        return told(store)


def _digest(content: bytes | None) -> str:
    return "" if content is None else hashlib.sha256(content).hexdigest()


def whole(frame: Frame | None) -> bool:
    """Whether the payload of a frame is the one that its header names."""
    return frame is not None and digest_of(frame.payload) == frame.head.sha256


# ------------------------------------------------------------------ what a child does
def prepared_commit(it: Writer) -> None:
    it.store.prepare(3, state(2, it.width), 2)
    it.commit(Slot(0, 3, 0))


ACTIONS: dict[str, Callable[[Writer], object]] = {
    "begin": lambda it: it.store.begin(3, state(2, it.width), 2),
    "commit": lambda it: it.commit(Slot(0, 2, 2)),
    "prepare and commit": prepared_commit,
    "finish": lambda it: it.store.finish(state(2, it.width)),
    "view": lambda it: it.store.change_view(
        1, 7, state(6, it.width), [Document("stop", "bob", b"signed")]
    ),
    "wake": lambda it: it.store.wake(),
    "document": lambda it: it.store.put_document("stop", "cyd", b"signed"),
    "neighbour": lambda it: it.store.note_neighbour("bob", Met(4, "nonce")),
    "event": lambda it: it.store.log("start", "again"),
}
"""What can be done to a store after two rounds of three steps but for the last."""


def two_rounds(folder: Path, width: int) -> None:
    """A folder in which every action can be done."""
    it = new_store(folder, width)
    it.rounds(1, 2)
    it.store.log("start", "first")
    it.store.close()


def for_ever(it: Writer) -> None:
    """Rounds until somebody ends it."""
    here = it.store.here
    if here.round:
        for step in range(3):
            slot = Slot(0, here.round, step)
            if not it.store.committed(slot):
                it.commit(slot)
    it.rounds(here.round + 1, 100_000, steps=3)


def until_refused(it: Writer) -> None:
    """Rounds until something cannot be written; what is there then is as it was before."""
    before = told(it.store)
    try:
        for t in range(it.store.here.round + 1, 1000):
            it.store.begin(t, state(t - 1, it.width), 1)
            before = told(it.store)
            for step in range(2):
                it.commit(Slot(0, t, step))
                before = told(it.store)
    except DpdlError as failure:
        after = told(it.store)
        print(json.dumps([type(failure).__name__, str(failure), before == after]))
        print(json.dumps(before))


def killing(at: str) -> Callable[[str], None]:
    """A fault that ends this process, as a power cut does, when a point is reached."""

    def fault(point: str) -> None:
        if point == at:
            os.kill(os.getpid(), signal.SIGKILL)

    return fault


def die(folder: Path, action: str, point: str, width: int) -> None:
    """Do something to a store, and be killed at a point of it."""
    it = opened(folder, killing(point), width)
    ACTIONS[action](it)


def die_often(folder: str, width: str) -> None:
    """A process for every line (copy of the folder, action, point) of the input."""
    for line in sys.stdin:
        copy, action, point = json.loads(line)
        shutil.copytree(folder, copy)
        one = os.fork()
        if not one:
            die(Path(copy), action, point, int(width))
            os._exit(0)
        _, status = os.waitpid(one, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def go_on(folder: str, width: str) -> None:
    """Rounds until somebody ends it."""
    it = opened(Path(folder), width=int(width))
    print("opened", flush=True)
    for_ever(it)


def fill(folder: str, width: str) -> None:
    """Rounds until the disk is full."""
    it = opened(Path(folder), width=int(width))
    until_refused(it)
    it.store.close()


def wake(folder: str) -> None:
    """Start, as the second one."""
    try:
        print(Store(Path(folder)).wake())
    except DpdlError as failure:
        print(failure)


def do_rounds(folder: str, width: str, rounds: str, prepared: str) -> None:
    """So many rounds of three exchanges."""
    it = opened(Path(folder), width=int(width))
    first = it.store.here.round + 1
    for t in range(first, first + int(rounds)):
        begin = it.store.prepare if prepared == "prepare" else it.store.begin
        begin(t, state(t - 1), t - 1)
        for step in range(3):
            it.commit(Slot(0, t, step))


def tell(folder: str) -> None:
    """What a store says, also on a full disk."""
    with StoreReader(Path(folder)) as reader:
        print(json.dumps(told(reader)))


PROGRAMS = {
    function.__name__: function
    for function in (die_often, go_on, fill, wake, do_rounds, tell)
}


def child(
    program: Callable[..., None], *arguments: object, before: tuple[str, ...] = ()
) -> subprocess.Popen[str]:
    """One of these programs in another process; `before` is what starts it."""
    words = [sys.executable, "-m", "tests.peer.stores", program.__name__]
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [*before, *words, *map(str, arguments)],
        cwd=HOME, stdin=pipe, stdout=pipe, stderr=pipe, text=True,
    )  # fmt: skip


def answer(process: subprocess.Popen[str], said: str = "") -> list[str]:
    """The lines that a child that has been told something writes until its end."""
    out, errors = process.communicate(said, timeout=TIMEOUT)
    assert not errors, errors
    return out.splitlines()


if __name__ == "__main__":
    PROGRAMS[sys.argv[1]](*sys.argv[2:])
