"""`tools/redraw.py` makes pictures of the documentation from results that are kept."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

TOOL = Path(__file__).parents[1] / "tools" / "redraw.py"
PNG = b"\x89PNG"


@pytest.fixture(scope="module")
def redraw() -> ModuleType:
    spec = importlib.util.spec_from_file_location("redraw", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_picture_is_drawn_under_the_name_that_the_pages_have(
    redraw: ModuleType, tmp_path: Path
) -> None:
    redraw.main(tmp_path)
    drawn = {path.name for path in tmp_path.iterdir()}
    assert drawn == {
        "frontier.png",
        "convergence-bipartite.png",
        "speeds.png",
        "costs.png",
        "cosines.png",
        "cross-gradients-leads.png",
        "cross-gradients-where.png",
    }
    assert drawn <= {path.name for path in redraw.IMAGES.iterdir()}
    assert all(path.read_bytes().startswith(PNG) for path in tmp_path.iterdir())


def test_speeds_are_those_of_the_last_measurement(redraw: ModuleType) -> None:
    assert len(redraw.history("gradients")) > 1
    when = [line["when"] for line in redraw.history("gradients")]
    assert when == sorted(when)
