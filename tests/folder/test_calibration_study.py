"""Lines of the study come back as they were written; damaged ones are refused in a sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dpdl.errors import InputError
from dpdl.folder.calibration_study import (
    StudyLine,
    StudySeed,
    StudySetting,
    cosine_lines,
    study_lines,
)

RESULTS = Path(__file__).parents[2] / "results" / "study"


def line(step: int) -> StudyLine:
    s = StudySetting("digits-mlp", "ring", 5, 0.0, 16, None, 40)
    seed = StudySeed(0, 0.5, 0.6, 0.0, None, -0.1, 0.52)
    return StudyLine(s, "dpdl-sound", step, {"1": 0.5, "2": -1.0}, (seed,))


def test_the_last_line_of_a_setting_and_an_algorithm_counts(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    lines = [json.dumps(line(step).to_json()) + "\n" for step in (1, 2)]
    path.write_text("".join(lines), "utf-8")
    (algorithms,) = study_lines(path).values()
    assert algorithms == {"dpdl-sound": line(2)}


@pytest.mark.parametrize("read", [study_lines, cosine_lines])
def test_a_damaged_line_is_named(tmp_path: Path, read) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_text('{"task": 3\n', "utf-8")
    with pytest.raises(InputError, match=r"lines\.jsonl:1"):
        read(path)
    with pytest.raises(InputError, match=r"cannot be read"):
        read(tmp_path / "missing.jsonl")


def test_what_is_kept_is_read_without_loss() -> None:
    for name, read in (("cross-gradients", study_lines), ("cosines", cosine_lines)):
        path = RESULTS / f"{name}.jsonl"
        found = read(path)
        if isinstance(found, dict):
            found = [one for some in found.values() for one in some.values()]
        written = [json.loads(text) for text in path.read_text("utf-8").splitlines()]
        assert [one.to_json() for one in found] == written
