"""Groups of sites: one that has ended, for tests that only look, and new ones for those that change."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.peer.group import Group, make_group


@pytest.fixture(scope="session")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Group:
    """Three sites that have run all four rounds of DPDL."""
    group = make_group(tmp_path_factory.mktemp("ended"), 3, algorithm="dpdl", alpha=0.1)
    group.start_all()
    codes = group.wait()
    assert set(codes.values()) == {0}, [group.log(k) for k in range(3)]
    return group


@pytest.fixture
def group(tmp_path: Path) -> Iterator[Callable[..., Group]]:
    """Makes sites that have approved a run; their processes end with the test."""
    made: list[Group] = []

    def make(count: int = 3, **options: object) -> Group:
        made.append(make_group(tmp_path, count, **options))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def copied(ended: Group, tmp_path: Path) -> Group:
    """A copy of the first site's run folder that a test may damage; the rest is the original's."""
    folder = ended.run(0).path
    shutil.copytree(folder, tmp_path / folder.name)
    return ended
