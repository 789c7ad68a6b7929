"""What is to be recorded: as a person writes it, or as a folder has it. It needs no torch."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import final

from dpdl.bounds import count, whole_in
from dpdl.errors import InputError
from dpdl.folder import names
from dpdl.folder.files import read_record
from dpdl.folder.recording_facts import RecordingIndex
from dpdl.text import shown


@final
@dataclass(frozen=True)
class RecordingRequest:
    """What is to be recorded."""

    rounds: tuple[int, ...]
    batches: tuple[
        int, ...
    ] = ()  # sizes of batches to play these rounds with, besides the run's own
    links: frozenset[tuple[int, int]] | None = None  # (source, target); None: all
    megabytes: int = 500  # no more than this is written

    def around(self) -> set[int]:
        """The rounds and their neighbours."""
        return {t + k for t in self.rounds for k in (-1, 0, 1)}


def recording_request_in(folder: Path) -> RecordingRequest | None:
    """What a run that is resumed was to record; None: nothing."""
    path = folder / names.RECORDING / names.RECORDED_ROUNDS
    if not path.exists():
        return None
    known = read_record(RecordingIndex, path)
    links = None if known.links is None else frozenset(known.links)
    return RecordingRequest(known.rounds, known.batches, links, known.megabytes)


def recording_request(
    rounds: str, batches: str, links: str, megabytes: int
) -> RecordingRequest:
    """A request in words: `200,400`, `1,4`, and `all` or links such as `0-1,1-0`."""
    count("record-limit", megabytes)
    chosen = None
    if links != "all":
        pairs = [word.split("-") for word in links.split(",")]
        if not all(
            len(pair) == 2 and all(whole_in(agent) is not None for agent in pair)
            for pair in pairs
        ):
            raise InputError(
                f"Links must be 'all' or pairs of agents such as 0-1,1-0, not "
                f"{shown(links)}."
            )
        chosen = frozenset((int(i), int(j)) for i, j in pairs)
    recorded = numbers_of(rounds, "Recorded rounds")
    if not recorded:
        raise InputError("Name at least one round to record, such as 200,400.")
    return RecordingRequest(
        recorded, numbers_of(batches, "Sizes of recorded batches"), chosen, megabytes
    )


def numbers_of(words: str, what: str) -> tuple[int, ...]:
    """Whole numbers separated by commas, ascending."""
    try:
        return tuple(sorted({int(word) for word in words.split(",") if word.strip()}))
    except ValueError:
        raise InputError(
            f"{what} must be whole numbers separated by commas, not {shown(words)}."
        ) from None
