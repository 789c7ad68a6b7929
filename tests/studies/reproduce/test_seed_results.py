"""What is kept of a run is what its summary and its metrics say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from dpdl.folder.run_folder import RunFolder
from dpdl.privacy.epsilon import UNBOUNDED, UNKNOWN
from dpdl.privacy.epsilons import Epsilons
from dpdl.studies.reproduce.seed_results import seed_result
from tests.studies.reproduce.small import CURVE, RUN, left_behind


def test_a_run_is_kept_in_percent_with_its_curve(tmp_path: Path) -> None:
    run = RunFolder(left_behind(tmp_path))
    assert seed_result(run, "abc") == replace(RUN, curve=CURVE)
    assert seed_result(run, None).commit is None


def test_a_run_without_evaluated_rounds_has_no_curve(tmp_path: Path) -> None:
    folder = left_behind(tmp_path)
    (folder / "metrics.jsonl").unlink()
    assert seed_result(RunFolder(folder), "abc") == RUN


def test_epsilons_may_be_unbounded_or_unknown(tmp_path: Path) -> None:
    epsilons = Epsilons(UNKNOWN, {"eavesdropper": UNBOUNDED})
    found = seed_result(RunFolder(left_behind(tmp_path, epsilon=epsilons)), None)
    assert found.epsilon == {"claimed_theorem1": UNKNOWN, "eavesdropper": UNBOUNDED}
    assert found.proven == UNBOUNDED
