"""With secure randomness, nothing un-noised crosses between processes; with seeded all may."""

from __future__ import annotations

import json
import struct
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

import dpdl
from dpdl.algorithms import NAMES, Info, State
from dpdl.errors import InputError
from dpdl.planning.plan import Plan
from dpdl.privacy.noise import Reproducible
from dpdl.tasks.data import Dataset
from dpdl.training.interrupt import Interrupted
from dpdl.training.launch import launch
from dpdl.training.result import Result
from dpdl.training.train import replan
from tests.conftest import small_module
from tests.training.links import Links, apart, with_rounds
from tests.training.small import StopAt, changed, planned, train

SECURE = sorted(
    name
    for name, a in NAMES.items()
    if not a.fixed
    and name not in ("async-dpsgd", "decor", "concord", "corn-dsgd", "epidemic")
)
NEEDED = {"pdsl": {"validation": 20}}
CANARY = 0.123456789012345678


class Keyed(Reproducible):
    """Secure randomness for the rest of the program, but two runs get the same numbers."""

    repeatable = False


def secure(blobs: Dataset, **options) -> Plan:
    """A plan with randomness that is taken for secure."""
    p = planned(blobs, changed(randomness="secure", **options))
    return replace(p, randomness=Keyed(3))


def run(p: Plan, links: Links, processes: int = 2, **more) -> Result:
    options = {"out": None, "watch": None, **more}
    placement = apart(processes, links)
    return launch(p, placement=placement, observers=[links.released], **options)


def resume(
    folder: Path, blobs: Dataset, processes: int | None = 2, watch=None
) -> Result:
    p = replace(replan(folder, data=blobs, model=small_module()), randomness=Keyed(3))
    placement = apart(processes) if processes else "alone"
    return launch(p, out=folder, placement=placement, watch=watch, again=True)


@pytest.mark.parametrize("name", SECURE)
def test_only_releases_models_and_public_words_cross(
    blobs: Dataset, tmp_path: Path, name: str
) -> None:
    links, options = Links(), {"algorithm": name, "rounds": 6, "eval_every": 2}
    e = changed(randomness="secure", **options, **NEEDED.get(name, {}))
    run(links.models(planned(blobs, e)), links, out=tmp_path / "run")
    assert len(links.crossed) > 6
    assert links.strangers() == []


@pytest.mark.parametrize("name", ["decor", "concord"])
def test_noise_of_pairs_is_refused_between_processes_without_a_secret(
    blobs: Dataset, name: str
) -> None:
    p = planned(blobs, changed(algorithm=name, randomness="secure", rounds=2))
    links = Links()
    with pytest.raises(InputError, match="`dpdl peer` between organisations"):
        run(p, links)
    assert links.crossed == []


@pytest.mark.parametrize("placement", ["alone", "threads:2", "threads:5"])
def test_noise_of_links_is_found_by_both_ends_in_one_process(
    blobs: Dataset, placement: str
) -> None:
    p = planned(blobs, changed(algorithm="decor", randomness="secure", rounds=4))
    for _ in range(2):  # a plan may be run again; its links then have other noise
        result = launch(p, out=None, placement=placement, watch=None)
        assert result.models.isfinite().all()


def test_of_a_run_that_averages_the_mean_models_cross(
    blobs: Dataset, tmp_path: Path
) -> None:
    e = changed(randomness="secure", rounds=4, average=0.5, eval_every=4)
    links = Links()
    run(links.models(planned(blobs, e)), links, out=tmp_path / "run")
    # Measured in round 4, and given back at the end.
    assert links.strangers() == ["torch.float32 (2, 77)"] * 2

    links, seen = Links(), dict[int, list[Tensor]]()

    def mean_of_two(state: State, info: Info) -> tuple[State, Info]:
        x = state["x"]
        links.allow(x)
        before = seen.setdefault(len(x), [])
        if before:  # the processes host two and three agents
            links.allow(before[-1] + (x - before[-1]) / 2)
        before.append(x)
        return state, info

    run(with_rounds(planned(blobs, e), mean_of_two), links, out=tmp_path / "again")
    assert links.strangers() == []


def test_a_simulation_has_the_experimenters_view(blobs: Dataset) -> None:
    """The listener above is not deaf: seeded noise hides nothing, and losses cross."""
    links = Links()
    p = links.models(planned(blobs, changed(rounds=4)))
    last = run(p, links).metrics[-1]
    assert "torch.float64 (2, 6)" in links.strangers()
    assert last["train_loss"]["mean"] > 0


def test_threads_are_one_process_with_the_experimenters_view(
    blobs: Dataset, tmp_path: Path
) -> None:
    e, out = changed(rounds=4, randomness="secure"), tmp_path / "run"
    last = train(blobs, e, placement="threads:2", out=out).metrics[-1]
    assert last["train_loss"]["mean"] > 0
    assert last["broken_gradients"] == 0
    assert (out / "state.safetensors").exists()


@pytest.mark.parametrize("what", ["train_loss", "clip_fraction", "cosine"])
def test_a_number_of_one_agents_records_never_crosses(
    blobs: Dataset, tmp_path: Path, what: str
) -> None:
    def tell(state: State, info: Info) -> tuple[State, Info]:
        values = {**info.values, what: info.values[what].clone()}
        values[what][-1] = CANARY
        return state, Info(values)

    needles = [struct.pack("<d", CANARY), struct.pack("<f", CANARY)]
    links, open_ = Links(), planned(blobs, changed(rounds=4))
    seen = run(with_rounds(open_, tell), links, out=tmp_path / "seen")
    assert any(needle in links.bytes() for needle in needles)
    links = Links()
    run(with_rounds(secure(blobs, rounds=4), tell), links, out=tmp_path / "run")
    assert links.crossed
    assert not any(needle in links.bytes() for needle in needles)
    assert what in seen.metrics[-1].to_json()


def test_what_process_0_may_not_know_is_null_and_the_rest_is_measured(
    blobs: Dataset, tmp_path: Path
) -> None:
    alone = launch(secure(blobs), out=None, placement="alone", watch=None)
    spread = run(secure(blobs), Links(), 3, out=tmp_path / "run")
    assert torch.equal(spread.models, alone.models)
    same = ("accuracy", "consensus_distance", "bytes_sent", "epsilon", "round")
    for measured, known in zip(spread.metrics, alone.metrics, strict=True):
        assert measured["train_loss"] == {"mean": None, "min": None, "max": None}
        assert measured["broken_gradients"] is None
        assert not {"clip_fraction", "cosine", "coefficient"} & set(
            measured.diagnostics
        )
        for name in same:
            assert measured[name] == known[name]
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["train_loss"] is None
    assert summary["accuracy"] == alone.summary["accuracy"]
    assert summary["epsilon"] == alone.summary["epsilon"]


# ---------------------------------------------------------------- checkpoints
@pytest.mark.parametrize("processes", [2, None], ids=["apart", "alone"])
def test_every_process_keeps_the_state_of_its_agents_and_resume_goes_on_from_it(
    blobs: Dataset, tmp_path: Path, processes: int | None
) -> None:
    whole = launch(secure(blobs), out=None, placement="alone", watch=None)
    folder = tmp_path / "run"
    with pytest.raises(Interrupted, match="dpdl resume"):
        run(secure(blobs), Links(), out=folder, watch=StopAt(5))
    assert {path.name for path in folder.glob("state*")} == {
        *("state-0.safetensors", "state-0.before.safetensors"),
        *("state-1.safetensors", "state-1.before.safetensors"),
    }
    resumed = resume(folder, blobs, processes)
    assert torch.equal(resumed.models, whole.models)
    assert resumed.summary["bytes_sent"] == whole.summary["bytes_sent"]
    assert resumed.summary["epsilon"] == whole.summary["epsilon"]


def crashed_while_saving(blobs: Dataset, folder: Path, process: int) -> None:
    """One process could not save round 6; process 1 may have, before process 0.

    A folder lies where its file has to go.
    """

    def obstruct(t: int, metrics) -> None:
        if t == 5:
            (folder / f"state-{process}.before.safetensors").unlink(missing_ok=True)
            (folder / f"state-{process}.before.safetensors").mkdir()

    message = "Is a directory" if process == 0 else "Process 1 .* has gone away"
    with pytest.raises(dpdl.RunFailed, match=message):
        run(secure(blobs), Links(), out=folder, watch=obstruct)
    (folder / f"state-{process}.before.safetensors").rmdir()


@pytest.mark.parametrize("process", [0, 1])
def test_processes_that_saved_different_rounds_go_on_from_the_last_that_all_have(
    blobs: Dataset, tmp_path: Path, process: int
) -> None:
    folder, rounds = tmp_path / "run", list[int]()
    crashed_while_saving(blobs, folder, process)
    resumed = resume(folder, blobs, watch=lambda t, metrics: rounds.append(t))
    assert rounds == list(range(4, 13))
    whole = launch(secure(blobs), out=None, placement="alone", watch=None)
    assert torch.equal(resumed.models, whole.models)
    lines = (folder / "ledger.jsonl").read_text().splitlines()[1:]
    left = [json.loads(line) for line in lines]
    assert [line["round"] for line in left] == [*range(1, 7), *range(4, 13)]
    assert [line["round"] for line in left if line.get("again")] == [4, 5, 6]


@pytest.mark.parametrize("lost", ["state-0", "state-1"])
def test_a_process_without_its_state_is_refused(
    blobs: Dataset, tmp_path: Path, lost: str
) -> None:
    folder = tmp_path / "run"
    run(secure(blobs), Links(), out=folder)
    for path in folder.glob(f"{lost}*"):
        path.unlink()
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(InputError, match=r"cannot go on: process \d finds no state"):
        resume(folder, blobs)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
