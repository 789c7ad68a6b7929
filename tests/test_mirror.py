"""Every module has a test file of its name, or stands in a list with the reason.

The tests of `room/module.py` are in `tests/room/test_module.py`, those of `room/inner/module.py` in
`tests/room/test_inner_module.py` or `tests/room/inner/test_module.py`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import dpdl

SOURCE = Path(dpdl.__file__).parent
TESTS = Path(__file__).parent
NOT_YET = "not yet"
ELSEWHERE: dict[str, str] = {}
"""Modules without a test file of their name, and where and why they are tested instead."""


def places(module: Path) -> list[Path]:
    """The places where the tests of a module may be."""
    *rooms, name = module.with_suffix("").parts
    joined = "_".join([*rooms[1:], name])
    return [
        TESTS.joinpath(*rooms[:1], f"test_{joined}.py"),
        TESTS.joinpath(*rooms, f"test_{name}.py"),
    ]


MODULES = sorted(
    file.relative_to(SOURCE)
    for file in SOURCE.rglob("*.py")
    if file.stem not in ("__init__", "__main__")
)


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_a_module_has_tests_of_its_name(module: Path) -> None:
    found = any(file.is_file() for file in places(module))
    listed = ELSEWHERE.get(module.as_posix())
    assert found != (listed is not None), "write its tests, or say where they are"


def test_reasons_are_about_modules_that_exist() -> None:
    assert set(ELSEWHERE) <= {module.as_posix() for module in MODULES}
