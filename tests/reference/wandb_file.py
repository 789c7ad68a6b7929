"""A file of wandb, read plainly: LevelDB's log of blocks, with one message of wandb's protocol in each record."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HEADER = 7
BLOCK = 32768
WHOLE, FIRST, MIDDLE, LAST = 1, 2, 3, 4


def chunks(content: bytes) -> Iterator[bytes]:
    """The data of all records; one that a crash cut off is left out."""
    at, parts = HEADER, b""
    while at + HEADER <= len(content):
        left = BLOCK - at % BLOCK
        if left < HEADER:  # the rest of a block that is too small for a record
            at += left
            continue
        size, kind = struct.unpack_from("<HB", content, at + 4)
        data = content[at + HEADER : at + HEADER + size]
        at += HEADER + size
        if kind in (WHOLE, FIRST):
            parts = b""
        parts += data
        if kind in (WHOLE, LAST):
            yield parts


def messages(path: Path) -> list[Any]:
    """All messages of a file."""
    from wandb.proto.wandb_internal_pb2 import Record

    return [Record.FromString(one) for one in chunks(path.read_bytes())]


def told(folder: Path) -> dict[str, Any]:
    """What all files in the folder of a run have together: a round that is there keeps its values."""
    found: dict[str, Any] = {"ids": [], "rounds": {}, "config": {}, "summary": {}}
    for path in sorted(folder.glob("offline-run-*/*.wandb")):
        for one in messages(path):
            _add(found, one)
    return found


def _add(found: dict[str, Any], one: Any) -> None:
    kind = one.WhichOneof("record_type")
    if kind == "run":
        found["ids"].append(one.run.run_id)
        found["config"] |= _items(one.run.config.update)
        found["project"], found["name"] = one.run.project, one.run.display_name
    elif kind == "history":
        row = _items(one.history.item)
        step = row.pop("_step")
        values = {name: n for name, n in row.items() if not name.startswith("_")}
        found["rounds"].setdefault(step, values)
    elif kind == "summary":
        found["summary"] |= _items(one.summary.update)
    elif kind == "exit":
        found["exit"] = one.exit.exit_code


def _items(items: Any) -> dict[str, Any]:
    pairs = [(one.key or "/".join(one.nested_key), one.value_json) for one in items]
    return {name: json.loads(value) for name, value in pairs}
