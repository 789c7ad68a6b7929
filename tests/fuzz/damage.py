"""What can happen to a file: a crash, a full disk, another program, a hostile hand."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np
import torch
from safetensors.torch import save

from dpdl.folder.checkpoint import Checkpoint, restore, store
from tests.fuzz import values

MARK = "\x00here\x00"


def damage(r: Random, path: Path) -> str:
    """Damage a file, or what stands for it; how."""
    how = r.choice(_fitting(path))
    how(r, path)
    return how.__name__.strip("_")


Damage = Callable[[Random, Path], None]


def _fitting(path: Path) -> list[Damage]:
    """Content is damaged more often than the file as a whole."""
    if path.suffix == ".json":
        return [*WHOLE, *[_json] * 12]
    if path.suffix == ".jsonl":
        return [*WHOLE, *[_line] * 10, *[_rehashed] * 8]
    if path.suffix == ".safetensors":
        return [*WHOLE, *[_tensors] * 4, *[_restated] * 8, *[_header] * 4]
    if path.suffix == ".npz":
        return [*WHOLE, *[_arrays] * 10]
    return list(WHOLE)


# ------------------------------------------------------------------ the file as a whole
def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _gone(r: Random, path: Path) -> None:
    _remove(path)


def _emptied(r: Random, path: Path) -> None:
    path.write_bytes(b"")


def _cut(r: Random, path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: r.randint(0, max(0, len(content) - 1))])


def _flipped(r: Random, path: Path) -> None:
    content = bytearray(path.read_bytes())
    for _ in range(r.randint(1, 4)):
        if content:
            content[r.randrange(len(content))] = r.randrange(256)
    path.write_bytes(bytes(content))


def _continued(r: Random, path: Path) -> None:
    more = r.choice([b"\xff\xfe", b"\n", b"{}\n", b"\x00" * 9, b"garbage", b"[1]\n\n"])
    path.write_bytes(path.read_bytes() + more)


def _replaced(r: Random, path: Path) -> None:
    path.write_bytes(values.raw_json(r).encode("utf-8", "surrogatepass"))


def _folder(r: Random, path: Path) -> None:
    _remove(path)
    path.mkdir()
    if r.random() < 0.5:
        (path / "x").write_text("x")


def _loop(r: Random, path: Path) -> None:
    _remove(path)
    path.symlink_to(path.name)


def _dangling(r: Random, path: Path) -> None:
    _remove(path)
    path.symlink_to("nowhere-at-all")


def _pipe(r: Random, path: Path) -> None:
    _remove(path)
    os.mkfifo(path)


WHOLE: list[Damage] = [
    _gone,
    _emptied,
    _cut,
    _cut,
    _flipped,
    _flipped,
    _continued,
    _replaced,
    _folder,
    _loop,
    _dangling,
    _pipe,
]


# ------------------------------------------------------------------ JSON
def _json(r: Random, path: Path) -> None:
    path.write_text(mutated(r, path.read_text("utf-8")), "utf-8", "surrogatepass")


def mutated(r: Random, text: str) -> str:
    """JSON with one to three of its values, names or numbers changed."""
    content = json.loads(text)
    for _ in range(r.choice([1, 1, 1, 2, 3])):
        content = _mutate(r, content)
    raw = values.raw_json(r)
    return json.dumps(content).replace(json.dumps(MARK), raw)


def _mutate(r: Random, content: object) -> object:
    if isinstance(content, dict) and content:
        name = r.choice(list(content))
        if r.random() < 0.6:
            return {**content, name: _mutate(r, content[name])}
        return _other_names(r, content, name)
    if isinstance(content, list) and content:
        k = r.randrange(len(content))
        if r.random() < 0.7:
            return [*content[:k], _mutate(r, content[k]), *content[k + 1 :]]
        return r.choice([content[:k], content * 2, content[::-1], [*content, None]])
    return r.choice([MARK, MARK, values.json_value(r), values.json_value(r)])


def _other_names(r: Random, content: dict[str, object], name: str) -> object:
    rest = {key: value for key, value in content.items() if key != name}
    pick = r.random()
    if pick < 0.4:
        return rest
    if pick < 0.6:
        return {**rest, values.text(r): content[name]}
    if pick < 0.8:
        return {**content, values.text(r): values.json_value(r)}
    return {**content, name: MARK}


def _lines(path: Path) -> list[str]:
    return path.read_text("utf-8", "replace").splitlines()


def _line(r: Random, path: Path) -> None:
    """One line is another one, is gone, stands twice, or elsewhere."""
    lines = _lines(path)
    if not lines:
        return
    k = r.randrange(len(lines))
    pick = r.random()
    if pick < 0.7:
        lines[k] = mutated(r, lines[k])
    elif pick < 0.8:
        del lines[k]
    elif pick < 0.9:
        lines.insert(r.randrange(len(lines) + 1), lines[k])
    else:
        r.shuffle(lines)
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8", "surrogatepass")


def _rehashed(r: Random, path: Path) -> None:
    """A line is changed, and all hashes fit again."""
    _line(r, path)
    before, lines = "0" * 32, []
    for line in _lines(path):
        try:
            content = json.loads(line)
            line = json.dumps({**content, "prev": before})
        except (ValueError, TypeError, RecursionError):
            pass
        before = hashlib.sha256(line.encode("utf-8", "replace")).hexdigest()[:32]
        lines.append(line)
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8", "surrogatepass")


# ------------------------------------------------------------------ tensors and arrays
def _header(r: Random, path: Path) -> None:
    """The JSON in front of the tensors."""
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    text = mutated(r, content[8 : 8 + size].decode())
    header = text.encode("utf-8", "surrogatepass")
    path.write_bytes(len(header).to_bytes(8, "little") + header + content[8 + size :])


TENSORS: list[Callable[[], torch.Tensor]] = [
    lambda: torch.tensor(1.0),
    lambda: torch.zeros(0),
    lambda: torch.zeros(3, 2),
    lambda: torch.zeros(1, 1, 1, 1),
    lambda: torch.zeros(2, dtype=torch.bool),
    lambda: torch.zeros(2, dtype=torch.bfloat16),
    lambda: torch.full((3, 4), float("nan")),
    lambda: torch.full((2,), 2**62),
]


def _tensors(r: Random, path: Path) -> None:
    """Other tensors under some of the names."""
    from safetensors import safe_open

    with safe_open(path, "pt") as file:
        facts = dict(file.metadata() or {})
        found = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    name = r.choice(list(found))
    pick = r.random()
    if pick < 0.6:
        found[name] = r.choice(TENSORS)()
    elif pick < 0.8:
        del found[name]
    else:
        found["more"] = r.choice(TENSORS)()
    if facts and r.random() < 0.4:
        facts[r.choice(list(facts))] = values.number_text(r).replace("\x00", "")
    facts = {k: v.encode("utf-8", "replace").decode() for k, v in facts.items()}
    path.write_bytes(save(found, facts))


def _restated(r: Random, path: Path) -> None:
    """Another state, with the hash that belongs to it."""
    if not path.name.startswith("state"):
        _tensors(r, path)
        return
    found = restore(path)
    state = dict(found.state)
    name = r.choice(list(state))
    if r.random() < 0.7:
        state[name] = r.choice(TENSORS)()
    else:
        del state[name]
    totals = r.choice([found.totals, found.totals[:1], found.totals.float()])
    t = r.choice([found.round, found.round, 0, 10**6, -1])
    store(path, Checkpoint(t, r.choice([1.0, -1.0, 1e300]), state, totals))


ARRAYS: list[Callable[[], object]] = [
    lambda: np.array(1.0),
    lambda: np.zeros(0),
    lambda: np.zeros((4, 3)),
    lambda: np.zeros((4, 2, 2), np.uint8),
    lambda: np.zeros((4, 2, 2, 3), np.uint8),
    lambda: np.zeros((0, 3)),
    lambda: np.zeros((4, 0)),
    lambda: np.full((4, 3), np.nan),
    lambda: np.full((4, 3), 1e300),
    lambda: np.zeros((4, 3), np.complex128),
    lambda: np.array(["a", "b", "c", "d"]),
    lambda: np.array([None, 1], dtype=object),
    lambda: np.zeros(4, np.int64),
    lambda: np.full(4, -1),
    lambda: np.full(4, 2**62),
    lambda: np.full(4, 2**64 - 1, np.uint64),
    lambda: np.arange(4),
    lambda: np.zeros(4, [("a", "i4")]),
    lambda: np.zeros(4, "M8[s]"),
    lambda: np.zeros(4, np.float16),
    lambda: np.zeros((4,), np.longdouble),
    lambda: np.zeros((2,) * 20, np.uint8),
]


def _arrays(r: Random, path: Path) -> None:
    """Other arrays under some of the names, or members that are none."""
    import zipfile

    if r.random() < 0.2:
        with zipfile.ZipFile(path, "w") as file:
            for name in r.sample(["x.npy", "y.npy", "x", "y", "../x.npy"], 3):
                file.writestr(name, r.choice([b"", b"\x93NUMPY", b"text", b"[" * 99]))
        return
    with np.load(path, allow_pickle=False) as loaded:
        found: dict[str, object] = dict(loaded)
    for _ in range(r.randint(1, 2)):
        name = r.choice(["x", "y", "x_test", "y_test"])
        if r.random() < 0.2:
            found.pop(name, None)
        else:
            found[name] = r.choice(ARRAYS)()
    np.savez(path, **found)  # type: ignore[arg-type]
