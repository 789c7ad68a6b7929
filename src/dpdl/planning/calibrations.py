"""Noise multipliers that were calibrated before, kept in the user's cache folder.

`calibrate` evaluates the accountant about a dozen times, which takes seconds and depends on
nothing but its arguments and the code that computes. Both are the key of an entry: the target, the
step without its noise, rounds, delta and relation; the versions of dpdl, Python, dp-accounting,
numpy and scipy, and a hash of the accountant's own source files.

A wrong entry must never under-count epsilon, and cannot. Whatever a file says, the accountant is
asked once, for the noise multiplier that it holds, and an entry that does not prove the target is
ignored. Every epsilon that is stated later is computed from the noise multiplier in use, not from
the cache. What is left to a forger of files is more noise than necessary. A hash of key and value
keeps accidents, such as a damaged disk, from that: only what `calibrate` returned, bit by bit, is
used.

`DPDL_CALIBRATIONS` is the folder, or `off`. Entries are small files of JSON, put in place at once,
so any number of processes may read and write them. A folder that cannot be used is done without.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import json
import os
import platform
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import final

from dpdl import __version__
from dpdl.errors import InputError
from dpdl.foreign import read_json
from dpdl.privacy import accounting, group, losses, renyi
from dpdl.privacy.accounting import Beside, Step, calibrate, epsilon
from dpdl.records import Json, JsonObject, Record

OFF = "off"
MOST = 2000
"""Entries that are kept; beyond it, the older half is removed."""


@final
@dataclass(frozen=True)
class CalibrationEntry(Record):
    """One file: what was asked, the noise multiplier that answers it, and a hash of both."""

    about: Mapping[str, Json]
    sigma: float
    sha256: str


def calibrations_dir() -> Path | None:
    """Where entries are: `DPDL_CALIBRATIONS`, or in the user's cache folder; None: nowhere."""
    chosen = os.environ.get("DPDL_CALIBRATIONS")
    if chosen == OFF:
        return None
    if chosen:
        return Path(chosen).expanduser()
    import platformdirs

    cache = platformdirs.user_cache_dir("dpdl", appauthor=False)
    return Path(cache) / "calibrations"


def calibrated(
    target: float,
    delta: float,
    step: Step,
    rounds: int,
    relation: str,
    beside: Beside = (),
) -> float:
    """What `calibrate` returns, to the last bit; computed once on this machine."""
    folder = calibrations_dir()
    if folder is None:
        return calibrate(target, delta, step, rounds, relation, beside)
    key = _key(target, delta, step, rounds, relation, beside)
    path = folder / f"{_hash(key)}.json"
    found = _read(path, key)
    if found is not None:
        own = (replace(step, sigma=found), rounds)
        spent = epsilon([own, *beside], delta, relation)
        if spent <= target:
            return found
    sigma = calibrate(target, delta, step, rounds, relation, beside)
    with contextlib.suppress(OSError):
        _write(path, key, sigma)
    return sigma


def _key(
    target: float,
    delta: float,
    step: Step,
    rounds: int,
    relation: str,
    beside: Beside,
) -> str:
    """All that the answer depends on, as JSON; floats are written with all their bits."""
    about = asdict(step)
    del about["sigma"]  # `calibrate` looks for it
    asked: JsonObject = {
        "target": target,
        "delta": delta,
        "rounds": rounds,
        "relation": relation,
    }
    if beside:
        asked["beside"] = [[asdict(other), count] for other, count in beside]
    return json.dumps({**asked, **about, **computed_by()}, sort_keys=True)


@lru_cache(maxsize=1)
def computed_by() -> dict[str, str]:
    """The code whose answer it is."""
    source = hashlib.sha256()
    for module in (accounting, group, losses, renyi):
        source.update(Path(str(module.__file__)).read_bytes())
    packages = ("dp-accounting", "numpy", "scipy")
    versions = {name: importlib.metadata.version(name) for name in packages}
    python = f"{platform.python_version()} {platform.machine()}"
    own = {"dpdl": __version__, "python": python, "source": source.hexdigest()}
    return {**versions, **own}


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _read(path: Path, key: str) -> float | None:
    """The noise multiplier of an entry; None: there is none, or it is not whole."""
    try:
        entry = CalibrationEntry.from_json(read_json(path))
    except (OSError, ValueError, InputError):
        return None
    whole = entry.sigma > 0 and entry.sha256 == _seal(key, entry.sigma)
    return entry.sigma if whole else None


def _seal(key: str, sigma: float) -> str:
    return _hash(f"{key} {sigma!r}")


def _write(path: Path, key: str, sigma: float) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    _sweep(path.parent)
    entry = CalibrationEntry(json.loads(key), sigma, _seal(key, sigma))
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(entry.to_json(), file, indent=2)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _sweep(folder: Path, most: int = MOST) -> None:
    """Remove the older half of the entries if there are too many."""
    entries = [*folder.glob("*.json")]
    if len(entries) < most:
        return
    aged = sorted(entries, key=lambda path: path.stat().st_mtime)
    for path in aged[: len(aged) // 2]:
        path.unlink(missing_ok=True)
