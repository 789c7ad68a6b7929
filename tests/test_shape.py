"""The shape of the code stays within the numbers that `tools/house.py` measures."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

HOME = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def house() -> ModuleType:
    spec = importlib.util.spec_from_file_location("house", HOME / "tools/house.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_lines_types_cycles_and_tests(house: ModuleType) -> None:
    found = house.measured(HOME)
    assert found["lines over 100 characters"].startswith("0 ")
    assert int(found["dict[str, Any] and Mapping[str, Any]"]) < 40
    assert float(found["expressions and statements per code line"]) <= 5
    assert float(found["test / source"]) > 1.1
    for none in (
        "modules in import cycles",
        "untyped returns",
        "undocumented public names",
    ):
        assert found[none] == "0", none


LOOSE = """
from typing import Any

def public(x: dict[str, Any]):
    y = 1; return [x, y] + ["{long}"]
"""


def test_what_is_out_of_shape_is_counted(house: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "src/p").mkdir(parents=True)
    (tmp_path / "tests").mkdir()
    (tmp_path / "src/p/a.py").write_text(LOOSE.replace("{long}", "x" * 100))
    (tmp_path / "src/p/b.py").write_text("from p import c\n")
    (tmp_path / "src/p/c.py").write_text("from p import b\n")
    found = house.measured(tmp_path)
    assert found["lines over 100 characters"].startswith("1 ")
    assert found["dict[str, Any] and Mapping[str, Any]"] == "1"
    assert found["modules in import cycles"] == "2"
    assert found["untyped returns"] == "1"
    assert found["undocumented public names"] == "4"  # three modules and a function
    assert found["test / source"] == "0.00"


PAGES = [*HOME.glob("*.md"), *HOME.joinpath("docs").rglob("*.md")]
CODE = [*HOME.joinpath("src").rglob("*.py"), *HOME.joinpath("tests").rglob("*.py")]


@pytest.mark.parametrize("word", ["us" + "ual", "us" + "ually"])
def test_a_default_is_called_default(word: str) -> None:
    found = [
        file.name
        for file in [*PAGES, *CODE]
        if word in re.findall(r"\w+", file.read_text("utf-8").lower())
    ]
    assert found == []
