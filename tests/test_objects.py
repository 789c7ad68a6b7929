"""`module:name` names an object of the user's own code."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dpdl.errors import InputError
from dpdl.objects import cause, load_object, on_demand, place_of

CODE = """
from helper_beside import value

class Net:
    class Inner:
        pass

def load():
    return value

number = 3
_private = 4
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with code, which is the current one; the module path is restored."""
    (tmp_path / "own_code_1.py").write_text(CODE, "utf-8")
    (tmp_path / "helper_beside.py").write_text("value = 5\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("own_code_")]:
        del sys.modules[name]
    sys.modules.pop("helper_beside", None)


def test_a_function_and_a_class_are_found_in_the_current_folder(here: Path) -> None:
    assert load_object("own_code_1:load", "dataset")() == 5
    assert load_object("own_code_1:Net", "model").__name__ == "Net"
    assert load_object("own_code_1:Net.Inner", "model").__name__ == "Inner"
    assert load_object("json:dumps", "dataset")([1]) == "[1]"


def test_the_folder_stays_on_the_path_once(here: Path) -> None:
    load_object("own_code_1:load", "dataset")
    load_object("own_code_1:Net", "model")
    assert sys.path.count(str(here)) == 1


def test_a_module_that_was_written_a_moment_ago_is_found(here: Path) -> None:
    load_object("own_code_1:load", "dataset")
    (here / "own_code_2.py").write_text("def load(): return 2\n", "utf-8")
    assert load_object("own_code_2:load", "dataset")() == 2


@pytest.mark.parametrize(
    "spec",
    ["own_code_1", "own_code_1:", ":load", "own code:load", "a/b:c", "a:b:c", ""],
)
def test_another_form_is_refused(here: Path, spec: str) -> None:
    with pytest.raises(InputError, match="is not of the form module:name"):
        load_object(spec, "dataset")


def test_a_module_that_is_not_there_is_named(here: Path) -> None:
    with pytest.raises(
        InputError, match="dataset 'nowhere:load' cannot be imported: Mod"
    ):
        load_object("nowhere:load", "dataset")


@pytest.mark.parametrize("line", ["1 / 0", "raise SystemExit(3)", "def ("])
def test_a_module_that_fails_is_one_sentence(here: Path, line: str) -> None:
    (here / "own_code_3.py").write_text(f"{line}\n", "utf-8")
    with pytest.raises(InputError, match="cannot be imported: ") as caught:
        load_object("own_code_3:load", "model")
    assert "\n" not in str(caught.value)


def test_a_name_that_is_not_there_gets_the_nearest_ones(here: Path) -> None:
    with pytest.raises(InputError, match="has no lod, but for instance load"):
        load_object("own_code_1:lod", "dataset")
    with pytest.raises(InputError) as caught:
        load_object("own_code_1:zzzzzz", "dataset")
    assert "_private" not in str(caught.value)


def test_what_cannot_be_called_is_refused(here: Path) -> None:
    with pytest.raises(InputError, match="a function or a class, not a int"):
        load_object("own_code_1:number", "dataset")


def test_a_cause_is_the_kind_and_the_first_line() -> None:
    assert cause(ValueError("first.\nsecond")) == "ValueError: first"
    assert cause(KeyError()) == "KeyError"


def test_a_package_offers_names_on_demand() -> None:
    get = on_demand("dpdl.privacy", {"Threat": "threats"})
    assert get("Threat").__module__ == "dpdl.privacy.threats"
    with pytest.raises(
        AttributeError, match=r"'dpdl.privacy' has no attribute 'Thread'"
    ):
        get("Thread")


def test_a_place_is_a_path() -> None:
    assert place_of("out", "runs") == place_of("out", Path("runs")) == Path("runs")
    with pytest.raises(InputError, match="out must be a path, not of type list"):
        place_of("out", ["runs"])
