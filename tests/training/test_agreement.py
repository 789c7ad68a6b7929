"""Processes that do not mean the same run all refuse, name what differs, and write nothing."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from dpdl import graph as graphs
from dpdl.errors import InputError
from dpdl.folder.checkpoint import restore, store
from dpdl.planning.plan import Plan
from dpdl.tasks.data import Dataset
from dpdl.training import agreement
from dpdl.training.agreement import agree_in_secret, digest
from dpdl.training.control import Control
from dpdl.training.launch import launch
from dpdl.training.meeting import meet
from dpdl.transport import Post
from dpdl.transport.threads import run_threads
from tests.conftest import small_module
from tests.places import on_threads
from tests.training import small
from tests.training.links import Links, Tapped
from tests.training.small import changed, train


def refusals(plans: Sequence[Plan], runs: Sequence[Path] | None = None) -> list[str]:
    """What every process says when each has a plan, and perhaps a run folder, of its own."""
    found = [""] * len(plans)

    def work(post: Post) -> None:
        try:
            meet(post, plans[post.rank], runs[post.rank] if runs else None)
        except InputError as refused:
            found[post.rank] = str(refused)

    on_threads(len(plans), work, apart=True)
    return found


def planned(blobs: Dataset, **options) -> Plan:
    more = {name: options.pop(name) for name in ("model", "graph") if name in options}
    return small.planned(blobs, changed(**options), **more)


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
def test_a_process_with_another_plan_is_named_with_the_field(
    blobs: Dataset, other: dict, field: str
) -> None:
    same = planned(blobs)
    for plans in (
        [same, planned(blobs, **other)],
        [same, same, planned(blobs, **other)],
    ):
        said = refusals(plans)
        assert said[0].startswith(
            f"Process {len(plans) - 1} of this run has another {field} than process 0;"
        )
        assert set(said) == {said[0]}


def test_processes_that_mean_the_same_run_meet(blobs: Dataset) -> None:
    assert refusals([planned(blobs), planned(blobs), planned(blobs)]) == ["", "", ""]


def test_other_records_are_noticed_though_nothing_is_told_about_them(
    blobs: Dataset,
) -> None:
    x = blobs.x.clone()
    x[17, 0, 0, 0] += 1
    other = replace(blobs, x=x)
    said = refusals([planned(blobs), planned(other)])
    assert set(said) == {said[0]}
    assert said[0].startswith(
        "Process 1 of this run has another data set than process 0;"
    )


def test_processes_that_would_go_on_from_different_states_are_refused(
    blobs: Dataset, tmp_path: Path
) -> None:
    p, runs = planned(blobs), [tmp_path / "a", tmp_path / "b"]
    train(blobs, out=runs[0])
    shutil.copytree(*runs)
    assert refusals([p, p], runs) == ["", ""]
    path = runs[1] / "state.safetensors"
    last = restore(path)
    store(
        path, last._replace(state={name: rows + 1 for name, rows in last.state.items()})
    )
    assert all(
        "another checkpoint than process 0" in said for said in refusals([p, p], runs)
    )
    store(path, last._replace(round=9))
    said = refusals([p, p], runs)
    assert all(
        "process 1 finds no state of its agents after round 12" in words
        for words in said
    )


@pytest.mark.parametrize("name", agreement.VERSIONS)
def test_another_version_is_noticed(blobs: Dataset, name: str) -> None:
    plan = planned(blobs).public
    rows = agreement.described(plan, again=False)
    others = agreement.described(plan, False, {**agreement.VERSIONS, name: "0"})
    differing = [a for (a, x), (_, y) in zip(rows, others, strict=True) if x != y]
    assert differing == [f"{name} version"]


def test_a_version_with_other_options_is_refused_before_anybody_waits(
    blobs: Dataset,
) -> None:
    rows, said = agreement.described(planned(blobs).public, again=False), ["", ""]

    def work(post: Post) -> None:
        try:
            agreement.agree(Control(post), rows[post.rank :])
        except InputError as refused:
            said[post.rank] = str(refused)

    on_threads(2, work)
    assert said[0] == said[1]
    assert "another dpdl version" in said[0]


def test_a_listener_cannot_test_a_guess_of_the_records(blobs: Dataset) -> None:
    """What crosses is another each time, so no hash of the data is in it; a plain digest would be the same."""
    heard = []
    for _ in range(2):
        links = Links()

        def work(transport, links: Links = links) -> None:
            control = Control(Post(Tapped(transport, links)))
            agree_in_secret(control, [("data set", digest(b"the records"))])

        run_threads(2, work)
        heard.append(
            {
                bytes(row)
                for rows in links.crossed
                if rows.dtype == torch.uint8
                for row in rows.tolist()
            }
        )
    assert len(heard[0]) == len(heard[1]) == 3
    assert not heard[0] & heard[1]
    assert digest(b"the records") not in heard[0] | heard[1]


def test_nothing_is_written_when_processes_differ(
    blobs: Dataset, tmp_path: Path
) -> None:
    plans, out = [planned(blobs), planned(blobs, sigma=0.01)], tmp_path / "run"
    said: list[str] = []

    def one(transport) -> None:
        placement = lambda work: work(Tapped(transport, Links()))  # noqa: E731
        try:
            launch(plans[transport.rank], out=out, placement=placement, watch=None)
        except InputError as refused:
            said.append(str(refused))

    run_threads(2, one)
    assert len(said) == 2 and "another sigma than process 0" in said[0]
    assert not out.exists()
