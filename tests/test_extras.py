"""What comes with an extra is named where it is missing, with what to do."""

from __future__ import annotations

import tomllib
from importlib import invalidate_caches
from pathlib import Path

import pytest

from dpdl import extras
from dpdl.errors import InputError

PROJECT = Path(__file__).parents[1] / "pyproject.toml"


POOR = {**extras.EXTRAS, "no_such_library": "plots"}
"""With an extra that nobody has."""


def test_every_extra_is_offered_by_the_project() -> None:
    project = tomllib.loads(PROJECT.read_text("utf-8"))["project"]
    offered = project["optional-dependencies"]
    light = " ".join(project["dependencies"])
    for library, extra in extras.EXTRAS.items():
        package = extras.PACKAGES.get(library, library)
        assert any(one.startswith(package) for one in offered[extra])
        assert package not in light, "then it would be no extra"


def test_what_is_missing_is_refused_with_the_remedy() -> None:
    assert not extras.is_installed("no_such_library")
    sentence = r"The picture cannot be made: .*pip install 'dpdl\[plots\]'\.$"
    with pytest.raises(InputError, match=sentence):
        extras.need("no_such_library", "The picture", POOR)
    words = extras.left_out("The picture was", "no_such_library", POOR)
    assert words.startswith(
        "The picture was left out: no_such_library is not installed"
    )


def test_only_an_extra_that_is_missing_is_excused() -> None:
    gone = ModuleNotFoundError("", name="no_such_library.part")
    assert extras.missing(gone, POOR) == "no_such_library"
    assert extras.missing(gone) is None
    assert (
        extras.missing(ModuleNotFoundError("", name="matplotlib.no_such_part")) is None
    )
    assert extras.missing(ModuleNotFoundError("", name="another")) is None
    assert extras.missing(ModuleNotFoundError("")) is None


def test_a_folder_of_that_name_is_no_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Trackers leave folders of their names where they were run."""
    (tmp_path / "no_such_library").mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))
    assert not extras.is_installed("no_such_library")
    (tmp_path / "no_such_library" / "__init__.py").touch()
    invalidate_caches()
    assert extras.is_installed("no_such_library")


def test_what_is_there_is_used() -> None:
    assert extras.is_installed("matplotlib")
    extras.need("matplotlib", "The picture")
    assert extras.drawn(lambda: "picture", None) == "picture"
    assert "pip install" in extras.remedy("PIL") and "pillow" in extras.remedy("PIL")
