"""Every module has a test file of its name.

The tests of `room/module.py` are in `tests/room/test_module.py`, those of `room/inner/module.py` in
`tests/room/test_inner_module.py` or `tests/room/inner/test_module.py`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import dpdl

SOURCE = Path(dpdl.__file__).parent
TESTS = Path(__file__).parent


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
    found = [file for file in places(module) if file.is_file()]
    assert any("def test_" in file.read_text("utf-8") for file in found)
