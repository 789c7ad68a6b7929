"""One run on a page: what was trained, how well, and what it gave away."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from dpdl.folder import class_counts
from dpdl.folder.run_folder import RunFolder
from dpdl.folder.scored import AgentScores
from dpdl.pages.risk_numbers import best_guess
from dpdl.pages.run_section import of_run
from dpdl.privacy.epsilon import UNBOUNDED, UNKNOWN, Epsilon
from dpdl.privacy.epsilons import Epsilons
from dpdl.records import Json
from tests.folder.measured import RUN, metrics, summary
from tests.pages.parsing import images

SUMMARY = summary(
    bytes_sent=2_000_000,
    privacy_statement="Proven: so much.",
    versions={"torch": "2.x"},
    score=AgentScores("accuracy", 0.9, 0.8, 0.95, 0.91),
    epsilon=Epsilons(
        UNKNOWN, {"eavesdropper": Epsilon(3.5437), "final_model": UNBOUNDED}
    ),
)


SETTINGS = {
    "dataset": "nothing.npz",
    "lr": 0.05,
    "delta": 1e-05,
    "margin": None,
    "rounds": 5,
}


def test_a_run_is_shown_with_its_privacy_statement(tmp_path: Path) -> None:
    section = of_run(SUMMARY, SETTINGS, tmp_path)
    for words in ("Proven: so much.", "90.00%", "3.544", "unbounded", "2 MB"):
        assert words in section.html
    assert "Theorem 1" not in section.html and "<img" not in section.html
    RunFolder(tmp_path).append(metrics(5, 0.9, loss=0.7312))
    accuracy, loss = images(of_run(SUMMARY, SETTINGS, tmp_path).html)
    assert "the last one is 90.0%" in accuracy and "the last one is 0.7312" in loss


def test_epsilon_is_said_in_plain_words_where_it_is_proven(tmp_path: Path) -> None:
    html = of_run(SUMMARY, SETTINGS, tmp_path).html
    assert "epsilon, proven against an eavesdropper on all links" in html
    share = best_guess(3.5437, SUMMARY.delta)
    assert 0.97 < share < 0.98 and f"at most {share:.2%} of such guesses" in html
    assert "The smaller epsilon" in html and "hardly anything" not in html
    large = Epsilons(UNKNOWN, {"eavesdropper": Epsilon(2509.0)})
    weak = of_run(replace(SUMMARY, epsilon=large), SETTINGS, tmp_path).html
    assert "at most 100.00% of such guesses" in weak and "hardly anything" in weak
    other = of_run(SUMMARY, {**SETTINGS, "threat": "final-model"}, tmp_path).html
    assert "In plain words" not in other, "nothing is proven against that"


def test_all_settings_and_versions_are_shown(tmp_path: Path) -> None:
    html = of_run(SUMMARY, SETTINGS, tmp_path).html
    for name, value in {
        "lr": "0.05",
        "delta": "1e-05",
        "margin": "none",
        "rounds": "5",
        "torch": "2.x",
    }.items():
        assert f"<dt>{name}</dt><dd>{value}</dd>" in html


def test_a_run_shows_its_coefficients_its_partition_and_its_graph() -> None:
    text = of_run(summary(), RunFolder(RUN).facts().experiment, RUN).html
    _, loss, calibration, graph, partition = images(text)
    last = json.loads((RUN / "metrics.jsonl").read_text().splitlines()[-1])
    assert f"{last['coefficient']:.3f} in round 4" in calibration
    assert f"{last['train_loss']['mean']:.4g}" in loss
    counts = class_counts.read(RunFolder(RUN)).counts
    sizes = [sum(row) for row in counts]
    assert (
        f"10 classes each of 3 agents holds; the agents hold from {min(sizes)} to {max(sizes)}"
        in partition
    )
    assert "ring: 3 agents and 3 edges" in graph
    assert "<dt>eval_every</dt><dd>2</dd>" in text


def test_a_section_reads_files_only(tmp_path: Path) -> None:
    for name in ("experiment.json", "metrics.jsonl", "ledger.jsonl"):
        shutil.copy(RUN / name, tmp_path)
    section = of_run(SUMMARY, SETTINGS, tmp_path)
    assert "Not shown: the run folder has no partition.json." in section.html
    assert [words.split(" ")[0] for words in images(section.html)][-1] == "The"


def test_why_a_graph_is_not_shown_is_said(tmp_path: Path) -> None:
    assert "Not shown: Folder" in of_run(SUMMARY, SETTINGS, tmp_path).html


@pytest.mark.parametrize(
    ("more", "open_to_all"),
    [
        ({}, True),
        ({"sites": ["a.npz", "b.npz"], "test": "t.npz"}, True),
        ({"sites": ["a.npz", "b.npz"]}, False),
    ],
)
def test_scores_on_a_sites_own_records_are_for_nobody_else(
    more: dict[str, Json], open_to_all: bool, tmp_path: Path
) -> None:
    RunFolder(tmp_path).append(metrics(5, 0.9, loss=0.7))
    section = of_run(SUMMARY, {**SETTINGS, **more}, tmp_path)
    shown = "".join(part.html for part in section.parts if part.public)
    kept = "".join(part.html for part in section.parts if not part.public)
    for words in ("90.00%", "80.00% and 95.00%", "the last one is 90.0%"):
        assert (words in shown) == open_to_all
        assert (words in kept) != open_to_all
    assert "3.544" in shown
    left_out = [part.what for part in section.parts if not part.public]
    assert any("test accuracy" in what for what in left_out) != open_to_all
