"""One page about folders of all kinds."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from dpdl.folder import class_counts
from dpdl.folder.class_counts import ClassCounts
from dpdl.folder.run_folder import RunFolder
from dpdl.studies.pages import make_class_counts, sections_of
from dpdl.training.train import replan
from tests.commands import dpdl as command
from tests.folder.measured import RUN
from tests.pages.attacked import leave_attack
from tests.pages.parsing import images, parsed


def test_the_command_writes_a_page(attacked: Path, monkeypatch, capsys) -> None:
    code, out, _ = command(monkeypatch, capsys, "report", str(attacked), "--json")
    facts = json.loads(out)
    assert code == 0 and facts["sections"] == ["What your neighbour could rebuild"]
    found = parsed(Path(facts["page"]).read_text("utf-8"))
    assert all(link.startswith(("#", "data:image/png;base64,")) for link in found.links)


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    """The stored run."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    shutil.copytree(RUN, folder)
    return folder


@pytest.fixture
def attacked(tmp_path: Path) -> Path:
    """The folder of an attack."""
    leave_attack(tmp_path)
    return tmp_path


@pytest.fixture
def older(trained: Path, tmp_path: Path) -> RunFolder:
    """The run as a version left it that did not count the records of classes."""
    copy = tmp_path / "older"
    shutil.copytree(trained, copy)
    run = RunFolder(copy)
    run.partition_path.unlink()
    return run


def test_a_run_counts_the_records_of_classes_when_it_starts(trained: Path) -> None:
    plan = replan(trained)
    found = class_counts.read(RunFolder(trained))
    assert found == ClassCounts.of_plan(plan)
    assert [sum(row) for row in found.counts] == [len(part) for part in plan.parts]


def test_the_command_counts_for_an_older_run(
    older: RunFolder, trained: Path, monkeypatch, capsys
) -> None:
    assert command(monkeypatch, capsys, "report", str(older.path))[0] == 0
    assert class_counts.read(older) == class_counts.read(RunFolder(trained))
    text = (older.path / "report.html").read_text("utf-8")
    assert "Heat map" in images(text)[-1]


def test_nothing_is_fetched_for_a_page(
    older: RunFolder, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setenv("DPDL_DATA", str(tmp_path / "empty"))
    facts = older.facts().with_options(dataset="mnist")
    older.experiment_path.write_text(json.dumps(facts.to_json()))
    why = make_class_counts(older)
    assert why == "the data set is not here; get it with dpdl data fetch mnist."
    (section,) = sections_of(older.path)
    assert f"Not shown: {why}" in section.html
    assert not (tmp_path / "empty").exists() and not older.partition_path.exists()


@pytest.mark.parametrize(
    "content", ["{", "[]", '{"format": 0}', '{"format": 1, "counts": [[1], [1, 2]]}']
)
def test_damaged_counts_are_refused(
    older: RunFolder, monkeypatch, capsys, content: str
) -> None:
    older.partition_path.write_text(content)
    code, _, err = command(monkeypatch, capsys, "report", str(older.path))
    assert code == 2 and "partition.json' is damaged" in err and err.count("\n") == 1


def test_two_runs_are_two_sections_of_one_page(
    trained: Path, tmp_path: Path, monkeypatch, capsys
) -> None:
    place = tmp_path / "both.html"
    code, out, _ = command(
        monkeypatch, capsys, "report", str(trained), str(trained), "--out", str(place)
    )
    assert code == 0 and out == f"Page: {place}\n"
    assert parsed(place.read_text("utf-8")).ids == [
        "run-run",
        "run-run.2",
        "not-covered",
    ]


@pytest.mark.parametrize("content", [None, "{"])
def test_folders_without_results_are_refused(
    tmp_path: Path, monkeypatch, capsys, content: str | None
) -> None:
    if content:
        (tmp_path / "summary.json").write_text(content)
    code, _, err = command(monkeypatch, capsys, "report", str(tmp_path))
    assert (
        code == 2
        and ("is damaged" if content else "neither a finished run") in err
        and err.count("\n") == 1
    )


def test_a_run_that_has_not_ended_is_told_from_a_folder_of_something_else(
    trained: Path, tmp_path: Path, monkeypatch, capsys
) -> None:
    shutil.copytree(trained, tmp_path / "run")
    (tmp_path / "run" / "summary.json").unlink()
    code, _, err = command(monkeypatch, capsys, "report", str(tmp_path / "run"))
    assert code == 2 and err.count("\n") == 1
    assert "has not ended" in err and "dpdl watch" in err and "dpdl resume" in err


DAMAGED = [
    {"summary.json": "{}"},
    {"summary.json": "{}", "experiment.json": "[]"},
    {"summary.json": "[]", "experiment.json": '{"experiment": {}}'},
    {"summary.json": "{}", "experiment.json": '{"experiment": {}}'},
    {"attack.json": '{"rows": []}'},
    {"attack.json": "[]"},
]


@pytest.mark.parametrize("files", DAMAGED)
def test_damaged_folders_are_refused_in_one_sentence(
    tmp_path: Path, monkeypatch, capsys, files: dict
) -> None:
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    code, out, err = command(monkeypatch, capsys, "report", str(tmp_path))
    assert code == 2 and out == "" and err.count("\n") == 1
    assert "is damaged" in err or "holds no run" in err
    assert not (tmp_path / "report.html").exists()


def test_a_page_that_cannot_be_written_is_told(
    attacked: Path, monkeypatch, capsys
) -> None:
    code, _, err = command(
        monkeypatch,
        capsys,
        "report",
        str(attacked),
        "--out",
        str(attacked / "no" / "page.html"),
    )
    assert (
        code == 2
        and "cannot be written: No such file or directory." in err
        and err.count("\n") == 1
    )
