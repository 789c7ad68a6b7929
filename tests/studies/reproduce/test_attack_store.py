"""Results of attacks are kept as the files there are, and counted number by number."""

from __future__ import annotations

import json
from pathlib import Path

from dpdl.paper.cells import AttackedPlace, places
from dpdl.studies.reproduce import attack_store, beside_paper
from dpdl.studies.reproduce.printed import Count
from dpdl.studies.reproduce.recipes import MODES
from tests.studies.reproduce.attacked import RING, entered_attack

KEPT = Path(__file__).parents[3] / "results" / "attack" / "mnist-complete-10.json"
"""One that was measured in earnest."""


def shape(value: object) -> object:
    """Names, however deep, of the first of equal things."""
    if isinstance(value, dict):
        return {name: shape(part) for name, part in value.items()}
    return [shape(value[0])] if isinstance(value, list) else None


def test_all_committed_attacks_come_back_as_they_were() -> None:
    for place in places("attack-mnist", "agents=10"):
        content = json.loads(attack_store.path_of(KEPT.parents[1], place).read_text())
        found = attack_store.read(KEPT.parents[1], place)
        assert found and found.to_json() == content, place.name
        assert (found.dataset, found.graph, found.agents) == place


def test_every_committed_file_is_of_a_known_kind() -> None:
    """Cells of three modes and attacks are records; studies are written by hand."""
    known = {*MODES, "attack", "compare", "demo", "study"}
    files = list(KEPT.parents[1].rglob("*.json"))
    assert {file.parent.name for file in files} == known and len(files) >= 251


def test_the_format_is_that_of_the_files_there_are(tmp_path: Path) -> None:
    entered_attack(tmp_path, RING)
    found = json.loads((tmp_path / "attack" / "mnist-ring-10.json").read_text())
    before = json.loads(KEPT.read_text())
    assert "recomputed" in before.pop("note")
    for run in (*found["runs"].values(), *before["runs"].values()):
        run["epsilon"] = None
    assert shape(found) == shape(before) and list(found) == list(before)
    assert found["what"] == before["what"] and "run" not in found["rows"][0]
    assert (found["rows"][0]["mse"], found["runs"]["ND"]["accuracy"]) == (
        0.1235,
        0.9876,
    )
    assert found["paper"][0]["psnr"] == {"paper": 6.84, "ours": 9.8765}


def test_what_was_attacked_of_many_agents_is_said(tmp_path: Path) -> None:
    place = AttackedPlace("mnist", "ring", 20)
    entered_attack(tmp_path, place)
    found = attack_store.read(tmp_path, place)
    assert found and "one of each of the first 10 agents;" in found.what


def test_cells_are_counted_metric_by_metric(tmp_path: Path) -> None:
    assert attack_store.count(tmp_path) == Count(0, 216)
    entered_attack(tmp_path, RING)
    assert attack_store.count(tmp_path) == Count(12, 216)
    entered_attack(
        tmp_path, AttackedPlace("cifar10", "complete", 30), scenarios=("cg", "self")
    )
    assert attack_store.count(tmp_path) == Count(18, 216), "self is not in the paper"
    path = attack_store.path_of(tmp_path, RING)
    found = json.loads(path.read_text())
    found["paper"][0]["mse"]["ours"] = None
    more = [*found["paper"][1:], {**found["paper"][1], "scenario": "dpdl-self"}]
    path.write_text(json.dumps({**found, "paper": found["paper"] + more}))
    assert attack_store.count(tmp_path).measured == 17, (
        "each once, only what was measured, only what is in the paper"
    )
    assert beside_paper.status(tmp_path).attacks == Count(17, 216)
