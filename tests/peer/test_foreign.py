"""Whatever others send: it is taken or refused in a sentence, within bounds, and changes nothing else.

`python tools/fuzz_peers.py KIND` tries the same inputs by the million.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from dpdl.errors import InputError
from tests.peer.foreign import Bench, Kind

INPUTS = {
    "frames": 6000,
    "manifests": 2000,
    "cards": 2000,
    "approvals": 2000,
    "statements": 2000,
    "hellos": 2000,
}
WEIGHED = 20
"""Of one input in so many the memory is measured."""
ENDS = {
    "frames": {"ValueError", "Violation", "taken"},
    "hellos": {"Rollback", "SecondInstance", "Violation", "taken"},
}
"""What must have happened; documents are refused as `InputError`, or taken."""


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    found = Bench(tmp_path_factory.mktemp("bench"))
    yield found
    found.close()


@pytest.mark.parametrize("kind", INPUTS)
def test_no_input_of_others_breaks_anything(bench: Bench, kind: str) -> None:
    ends: Counter[str] = Counter()
    for number in range(INPUTS[kind]):
        came = bench.try_one(kind, Random(f"{kind} {number}"), number % WEIGHED == 0)
        ends[came.ended] += 1
    assert set(ends) >= ENDS.get(kind, {"InputError", "taken"})
    assert ends["taken"] > INPUTS[kind] / 100, "most damage is not noticed at once"


# ------------------------------------------------------------------ the bench itself
def raising(failure: Exception):
    def take(content: bytes) -> None:
        raise failure

    return take


def kept(content: bytes, held: list[bytearray] = []) -> None:  # noqa: B006
    held[:] = [bytearray(10 << 20)]


@pytest.mark.parametrize(
    ("take", "said"),
    [
        (raising(TypeError("a bug")), "a bug"),
        (raising(InputError("two\nlines.")), "two"),
        (raising(InputError(f"{'long ' * 80}.")), "long"),
        (raising(InputError("No end")), "No end"),
        (kept, "bytes of memory"),
    ],
)
def test_the_bench_notices(tmp_path: Path, take, said: str) -> None:
    bench = Bench(tmp_path / "bench")
    bench.kinds = {"wrong": replace(bench.kinds["cards"], take=take)}
    with pytest.raises((AssertionError, TypeError), match=said):
        bench.try_one("wrong", Random(1), weigh=True)
    bench.close()


def test_the_bench_notices_what_a_refused_input_has_changed(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "bench")
    known = bench.kinds["approvals"]
    assert known.watched is not None
    store = known.watched.store

    def take(content: bytes) -> None:
        store.put_document("approval", "x", content)
        raise InputError("It is refused.")

    bench.kinds = {"wrong": Kind(known.draw, take, watched=known.watched)}
    with pytest.raises(AssertionError, match="has changed the database"):
        bench.try_one("wrong", Random(1))
    bench.close()
