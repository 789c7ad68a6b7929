"""Before the first round: the processes of a run find out whether they mean the same run, and where it stands."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dpdl.errors import InputError
from dpdl.net import blocks
from dpdl.run.agreement import agree, agree_in_secret, described, digest
from dpdl.run.checkpoint import Checkpoint
from dpdl.run.control import Control
from dpdl.run.plan import Plan
from dpdl.run.states import States
from dpdl.run.store import RunFolder
from dpdl.run.view import records_stay
from dpdl.transport import Transport


def meet(transport: Transport, p: Plan, run_dir: Path | None) -> Checkpoint | None:
    """The state that the agents hosted here go on from; None: from the beginning, as when there is no `run_dir`.

    Processes that differ in anything, or cannot go on from the same round, all refuse, and nothing is written.
    """
    control = Control(transport)
    if transport.apart:
        agree(control, described(p, again=run_dir is not None))
    place = blocks(len(p.graph), transport.size)  # refuses too many processes
    agents = (place == transport.rank).nonzero().flatten().tolist()
    round = _last(control, run_dir, agents, transport.rank) if run_dir else 0
    if transport.apart:
        common = States(run_dir).common(round) if run_dir else ""
        secrets = {"data set": p.data.fingerprint(), "checkpoint": common}
        agree_in_secret(control, [(name, digest(value.encode())) for name, value in secrets.items()])
    return States(run_dir).load(round, agents) if run_dir and round else None


def chosen_folder(transport: Transport, p: Plan, out: Path, again: bool) -> Path:
    """Where this process keeps what it may: in `out` to go on, else where process 0 does, which must be free."""
    control = Control(transport)
    home = Path(control.name(str(out)))
    if again:
        return out
    free = not records_stay(transport, p.grad.randomness.repeatable) or not RunFolder(home).exists()
    _all(control, free, f"Folder {str(home)!r} of process {{}} already holds a run; choose another --out.")
    return home


def _last(control: Control, run_dir: Path, agents: Sequence[int], rank: int) -> int:
    """The round that all go on from: the last one that process 0 knows to be saved everywhere."""
    states = States(run_dir)
    round = control.share(states.last() if rank == 0 else 0)
    _all(
        control,
        states.has(round, agents),
        f"Run {str(run_dir)!r} cannot go on: process {{}} finds no state of its agents after round {round}, the last "
        "one that process 0 has.",
    )
    return round


def _all(control: Control, fine: bool, words: str) -> None:
    """Refuse in all processes, with the number of the first in which something is not fine."""
    found = control.gather(fine)
    first = control.share(found.index(False) if False in found else -1)
    if first >= 0:
        raise InputError(words.replace("{}", str(first)))
