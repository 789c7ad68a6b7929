"""Before the first round: whether all processes mean the same run, and where it stands."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from dpdl.errors import InputError
from dpdl.folder.checkpoint import Checkpoint
from dpdl.folder.run_folder import RunFolder
from dpdl.folder.states import States
from dpdl.net import blocks
from dpdl.planning.plan import Plan
from dpdl.planning.site import Site
from dpdl.training.agreement import agree, agree_in_secret, described, digest
from dpdl.training.control import Control
from dpdl.training.instruments import records_stay
from dpdl.transport import Post


class Met(NamedTuple):
    """What a process knows after the meeting."""

    site: Site  # of the agents hosted here
    start: Checkpoint | None  # their state; None: from the beginning


def meet(post: Post, p: Plan, run_dir: Path | None) -> Met:
    """Find out whether all processes mean the same run, and where it stands in `run_dir`.

    Processes that differ in anything, or cannot go on from the same round, all refuse, and nothing
    is written.
    """
    control = Control(post)
    if post.apart:
        agree(control, described(p.public, again=run_dir is not None))
    place = blocks(len(p.graph), post.size)  # refuses too many processes
    agents = (place == post.rank).nonzero().flatten().tolist()
    site = p.site(agents)
    round = _last(control, run_dir, agents, post.rank) if run_dir else 0
    if post.apart:
        common = States(run_dir).common(round) if run_dir else ""
        secrets = {"data set": p.source.fingerprint, "checkpoint": common}
        hashes = [(name, digest(value.encode())) for name, value in secrets.items()]
        agree_in_secret(control, hashes)
    start = States(run_dir).load(round, agents) if run_dir and round else None
    return Met(site, start)


def chosen_folder(post: Post, p: Plan, out: Path, again: bool) -> Path:
    """The folder of this process: `out` to go on, else that of process 0, which must be free."""
    control = Control(post)
    home = Path(control.name(str(out)))
    if again:
        return out
    free = (
        not records_stay(post, p.randomness.repeatable) or not RunFolder(home).started
    )
    _all(
        control,
        free,
        f"Folder {str(home)!r} of process {{}} already holds a run; choose another --out.",
    )
    return home


def _last(control: Control, run_dir: Path, agents: Sequence[int], rank: int) -> int:
    """The round that all go on from: the last one that process 0 knows to be saved everywhere."""
    states = States(run_dir)
    round = control.share(states.last() if rank == 0 else 0)
    _all(
        control,
        states.has(round, agents),
        f"Run {str(run_dir)!r} cannot go on: process {{}} finds no state of its agents after round "
        f"{round}, the last one that process 0 has.",
    )
    return round


def _all(control: Control, fine: bool, text: str) -> None:
    """Refuse in all processes, with the number of the first in which something is not fine."""
    found = control.gather(fine)
    first = control.share(found.index(False) if False in found else -1)
    if first >= 0:
        raise InputError(text.replace("{}", str(first)))
