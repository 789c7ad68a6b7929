"""Processes that do not mean the same run all refuse, name what differs, and write nothing."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from dpdl import graph as graphs
from dpdl.errors import InputError
from dpdl.run import agreement
from dpdl.run.agreement import agree_in_secret, digest
from dpdl.run.checkpoint import restore, store
from dpdl.run.control import Control
from dpdl.run.meeting import meet
from dpdl.run.plan import Plan, plan
from dpdl.tasks.data import Dataset
from dpdl.transport.threads import run_threads
from tests.conftest import small_module
from tests.run.links import Links, Tapped, play_apart
from tests.run.test_train import changed, train


def refusals(plans: Sequence[Plan], runs: Sequence[Path] | None = None) -> list[str]:
    """What every process says when each has a plan, and perhaps a run folder, of its own."""
    found = [""] * len(plans)

    def work(transport) -> None:
        try:
            meet(transport, plans[transport.rank], runs[transport.rank] if runs else None)
        except InputError as refused:
            found[transport.rank] = str(refused)

    run_threads(len(plans), work, apart=True)
    return found


def planned(blobs: Dataset, **options) -> Plan:
    more = {name: options.pop(name) for name in ("model", "graph") if name in options}
    return plan(changed(**options), **{"data": blobs, "model": small_module(), **more})


@pytest.mark.parametrize(
    ("other", "field"),
    [
        ({"sigma": 0.01}, "sigma"),
        ({"rounds": 13}, "rounds"),
        ({"seed": 1}, "seed"),
        ({"algorithm": "dpdl-sound"}, "algorithm"),
        ({"batch": 9}, "batch"),
        ({"lr": 0.2}, "lr"),
        ({"eval_every": 5}, "eval_every"),
        ({"randomness": "secure"}, "randomness"),
        ({"graph": graphs.path(5)}, "mixing matrix"),
        ({"model": small_module(1)}, "initial model"),
    ],
)
def test_a_process_with_another_plan_is_named_with_the_field(blobs: Dataset, other: dict, field: str) -> None:
    same = planned(blobs)
    for plans in ([same, planned(blobs, **other)], [same, same, planned(blobs, **other)]):
        said = refusals(plans)
        assert said[0].startswith(f"Process {len(plans) - 1} of this run has another {field} than process 0;")
        assert set(said) == {said[0]}


def test_processes_that_mean_the_same_run_meet(blobs: Dataset) -> None:
    assert refusals([planned(blobs), planned(blobs), planned(blobs)]) == ["", "", ""]


def test_other_records_are_noticed_though_nothing_is_told_about_them(blobs: Dataset) -> None:
    x = blobs.x.clone()
    x[17, 0, 0, 0] += 1
    other = replace(blobs, x=x)
    said = refusals([planned(blobs), planned(other)])
    assert set(said) == {said[0]}
    assert said[0].startswith("Process 1 of this run has another data set than process 0;")


def test_processes_that_would_go_on_from_different_states_are_refused(blobs: Dataset, tmp_path: Path) -> None:
    p, runs = planned(blobs), [tmp_path / "a", tmp_path / "b"]
    train(blobs, out=runs[0])
    shutil.copytree(*runs)
    assert refusals([p, p], runs) == ["", ""]
    path = runs[1] / "state.safetensors"
    last = restore(path)
    store(path, last._replace(state={name: rows + 1 for name, rows in last.state.items()}))
    assert all("another checkpoint than process 0" in said for said in refusals([p, p], runs))
    store(path, last._replace(round=9))
    said = refusals([p, p], runs)
    assert all("process 1 finds no state of its agents after round 12" in words for words in said)


@pytest.mark.parametrize(("of", "name"), [(agreement, "dpdl"), (torch, "torch"), (np, "numpy")])
def test_another_version_is_noticed(blobs: Dataset, monkeypatch: pytest.MonkeyPatch, of, name: str) -> None:
    p = planned(blobs)
    rows = agreement.described(p, again=False)
    monkeypatch.setattr(of, "__version__", "0")
    others = agreement.described(p, again=False)
    assert [a for (a, x), (_, y) in zip(rows, others, strict=True) if x != y] == [f"{name} version"]


def test_a_version_with_other_options_is_refused_before_anybody_waits(blobs: Dataset) -> None:
    rows, said = agreement.described(planned(blobs), again=False), ["", ""]

    def work(transport) -> None:
        try:
            agreement.agree(Control(transport), rows[transport.rank :])
        except InputError as refused:
            said[transport.rank] = str(refused)

    run_threads(2, work)
    assert said[0] == said[1]
    assert "another dpdl version" in said[0]


def test_a_listener_cannot_test_a_guess_of_the_records(blobs: Dataset) -> None:
    """What crosses is another each time, so no hash of the data is in it; a plain digest would be the same."""
    heard = []
    for _ in range(2):
        links = Links()

        def work(transport, links: Links = links) -> None:
            agree_in_secret(Control(Tapped(transport, links)), [("data set", digest(b"the records"))])

        run_threads(2, work)
        heard.append({bytes(row) for rows in links.crossed if rows.dtype == torch.uint8 for row in rows.tolist()})
    assert len(heard[0]) == len(heard[1]) == 3
    assert not heard[0] & heard[1]
    assert digest(b"the records") not in heard[0] | heard[1]


def test_nothing_is_written_when_processes_differ(
    blobs: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    play_apart(monkeypatch, 2)

    def otherwise(control: Control, rows) -> None:
        forged = [(name, bytes(32) if name == "sigma" else row) for name, row in rows]
        agreement.agree(control, forged if control._transport.rank else rows)

    monkeypatch.setattr("dpdl.run.meeting.agree", otherwise)
    with pytest.raises(InputError, match="another sigma than process 0"):
        train(blobs, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()
