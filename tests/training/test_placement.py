"""Names of placements become processes."""

from __future__ import annotations

import pytest

from dpdl.errors import InputError
from dpdl.training.placement import placement_of


def seen(placement: str) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    placement_of(placement)(lambda t: found.append((t.rank, t.size)))
    return sorted(found)


def test_alone_is_one_process_and_threads_are_several() -> None:
    assert seen("alone") == [(0, 1)]
    assert seen("threads:3") == [(0, 3), (1, 3), (2, 3)]


def test_an_own_placement_is_taken_as_it_is() -> None:
    def mine(work: object) -> None:
        """Does nothing."""

    assert placement_of(mine) is mine


@pytest.mark.parametrize(
    "name", ["threads", "threads:", "threads:0", "threads:x", "threads:²"]
)
def test_threads_need_a_number(name: str) -> None:
    with pytest.raises(InputError, match="K a whole number of at least 1"):
        placement_of(name)


@pytest.mark.parametrize("name", ["", "alone:2", "gloo:2", "allone"])
def test_other_names_are_refused_with_the_nearest(name: str) -> None:
    with pytest.raises(InputError, match=r"Unknown placement .* Allowed: alone, gloo"):
        placement_of(name)


def test_gloo_works_under_torchrun_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RANK", raising=False)
    with pytest.raises(InputError, match="works under torchrun only"):
        placement_of("gloo")(lambda transport: None)
