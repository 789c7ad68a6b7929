"""Children are started by a server, or as interpreters where there is none."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from dpdl.folder.checkpoint import restore
from dpdl.studies.pool import run_many
from dpdl.studies.pool_messages import Ending, EndState, Going, News, PooledRun
from dpdl.studies.pool_start import (
    ChildStarter,
    ForkedChild,
    FreshInterpreter,
    ServerGone,
    StartedChild,
)
from tests.studies.long_pool import TINY


@pytest.fixture(scope="module")
def start() -> Iterator[ChildStarter]:
    made = ChildStarter()
    yield made
    made.leave()


def stopped(child: StartedChild) -> int:
    """Nothing is ordered: a child that reads the end of its orders fails, with a line."""
    child.orders.close()
    with child.news as lines:
        assert "JSONDecodeError" in lines.read()
    return child.wait()


def silent(name: str, news: News) -> None:
    pass


def test_a_forked_child_and_an_interpreter_compute_the_same_bits(
    tmp_path: Path, start: ChildStarter
) -> None:
    ways = {"forked": start, "fresh": FreshInterpreter}
    for name, way in ways.items():
        run = PooledRun(tmp_path / name, TINY)
        ending = run_many([run], 1, silent, start=way)[name]
        assert ending.state is EndState.DONE
    one, other = (restore(tmp_path / name / "state.safetensors") for name in ways)
    assert one.state.keys() == other.state.keys()
    assert all((one.state[key] == other.state[key]).all() for key in one.state)
    ledgers = [(tmp_path / name / "ledger.jsonl").read_bytes() for name in ways]
    assert ledgers[0] == ledgers[1]


@pytest.mark.parametrize("forked", [True, False])
def test_a_child_without_an_order_says_so(start: ChildStarter, forked: bool) -> None:
    child = start(os.environ) if forked else FreshInterpreter(os.environ)
    assert isinstance(child, ForkedChild if forked else FreshInterpreter)
    assert stopped(child) == 1


@pytest.mark.parametrize("forked", [True, False])
def test_a_child_is_killed(start: ChildStarter, forked: bool) -> None:
    child = start(os.environ) if forked else FreshInterpreter(os.environ)
    child.kill()
    assert child.wait() == -signal.SIGKILL
    child.kill()  # it has ended: nothing happens
    child.orders.close()
    with child.news as lines:
        assert lines.read() == ""


def test_one_server_serves_all_children_that_import_the_same(
    start: ChildStarter,
) -> None:
    server = start.server(os.environ)
    assert start.server({**os.environ, "DPDL_CORES": "1"}) is server
    assert not server.serves({**os.environ, "PYTHONPATH": "elsewhere"})
    assert not server.serves({**os.environ, "OMP_NUM_THREADS": "7"})


def test_a_server_that_is_gone_is_replaced(start: ChildStarter) -> None:
    server = start.server(os.environ)
    os.kill(server.process, signal.SIGKILL)
    assert stopped(start(os.environ)) == 1
    assert start.server(os.environ) is not server
    with pytest.raises(ServerGone):
        server.start(os.environ)


def test_runs_go_on_when_their_server_is_killed(
    tmp_path: Path, start: ChildStarter
) -> None:
    runs = [PooledRun(tmp_path / name, TINY) for name in ("first", "second")]

    def watch(name: str, news: News) -> None:
        if name == "first" and news == Going():
            os.kill(start.server(os.environ).process, signal.SIGKILL)

    endings = run_many(runs, 1, watch, start=start)
    assert [one.state for one in endings.values()] == [EndState.DONE] * 2


def test_without_a_server_a_child_is_an_interpreter() -> None:
    """Here it cannot import what it needs, which the child says itself."""
    lost = {**os.environ, "PYTHONHOME": "/nowhere"}
    start = ChildStarter()
    child = start(lost)
    assert isinstance(child, FreshInterpreter)
    child.orders.close()
    with child.news as lines:
        assert "No module named" in lines.read()
    assert child.wait() == 1
    start.leave()


def test_children_are_started_from_several_threads(start: ChildStarter) -> None:
    codes: list[int] = []
    threads = [
        threading.Thread(target=lambda: codes.append(stopped(start(os.environ))))
        for _ in range(4)
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join(60)
    assert codes == [1] * 4


def test_what_a_pool_starts_with_is_passed_in(tmp_path: Path) -> None:
    seen: list[str] = []

    def start(environment: Mapping[str, str]) -> StartedChild:
        seen.append(environment["DPDL_CORES"])
        return FreshInterpreter({**environment, "PYTHONHOME": "/nowhere"})

    run = PooledRun(tmp_path / "run", TINY)
    ending = run_many([run], 1, silent, start=start)["run"]
    assert isinstance(ending, Ending) and ending.state is EndState.FAILED
    assert "exit code 1" in (ending.error or "")
    assert len(seen) == 1 and int(seen[0]) >= 1
