"""What left the agents of a run, channel by channel, and who received it."""

from __future__ import annotations

from collections.abc import Sequence

from dpdl.pages.document import Block, Grid, Words
from dpdl.pages.statement_evidence import Evidence
from dpdl.privacy.releases import Release

MOST_AGENTS = 30
"""More agents than this are not listed one by one."""
SIGNS = "signs and scales"
"""How the ledger describes a channel whose messages are compressed to signs."""
BYTES = {"float32": 4, "float64": 8}


def left(found: Evidence) -> list[Block]:
    """The channels, the size of a message, and how many there were."""
    rows = [
        (
            release.channel,
            release.carries,
            _size(message_bytes(found, release)),
            "yes" if release.private else "no",
        )
        for release in found.header.releases
    ]
    head = ["channel", "what is in a message", "bytes", "noise of its own"]
    caption = (
        "A message without noise of its own is computed from others that have it, "
        "except for what the channel names as un-noised. Records never leave; no other "
        "channel can be used."
    )
    grid: list[Block] = (
        [Grid(head, rows, caption)]
        if rows
        else [Words("The ledger does not say what left.")]
    )
    return [*grid, Words(_amount(found))]


def message_bytes(found: Evidence, release: Release) -> int | None:
    """The size of one message.

    A number for every parameter, or a bit for each and a scale for every tensor.
    """
    parameters = found.summary.parameters
    width = BYTES.get(str(found.settings.get("dtype")))
    if not width:
        return None
    if not release.carries.startswith(SIGNS):
        return parameters * width
    shapes = found.facts.model_shapes
    return -(-parameters // 8) + 4 * len(shapes) if shapes else None


def _size(count: int | None) -> str:
    return "unknown" if count is None else f"{count:,}"


def _amount(found: Evidence) -> str:
    """Rounds that are charged, and bytes of all agents."""
    counts = [
        sum(of_agent)
        for of_agent in zip(
            *(segment.counts for segment in found.segments), strict=True
        )
    ]
    low, high = min(counts), max(counts)
    rounds = (
        f"{high:,}" if low == high else f"{low:,} to {high:,}, depending on the agent"
    )
    words = f"Rounds charged to an agent: {rounds}."
    sent = found.summary.bytes_sent
    sizes = {message_bytes(found, release) for release in found.header.releases}
    words += f" All agents together sent {sent:,} bytes"
    (size,) = sizes if len(sizes) == 1 else (None,)
    words += (
        f", which are {sent // size:,} messages." if size and sent % size == 0 else "."
    )
    if high > found.summary.rounds:
        words += (
            " Rounds that a crash made the run repeat are charged twice, and in "
            "the bytes once."
        )
    return words


def receivers(neighbours: Sequence[Sequence[int]]) -> list[Block]:
    """Who hears whom without listening on a link."""
    counts = list(map(len, neighbours))
    low, high = min(counts), max(counts)
    span = f"{low}" if low == high else f"{low} to {high}"
    words = Words(
        f"Every agent sends to its neighbours in the graph, {span} of them, and to "
        "nobody else. There is no server."
    )
    if len(neighbours) > MOST_AGENTS:
        return [words]
    rows = [
        (str(agent), ", ".join(map(str, around)) or "nobody")
        for agent, around in enumerate(neighbours)
    ]
    return [
        words,
        Grid(["agent", "sends to agents"], rows, "Links are used in both directions."),
    ]
