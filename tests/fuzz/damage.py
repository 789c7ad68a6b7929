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
    ways = _fitting(path) if r.random() < 0.95 else AS_A_WHOLE
    how = r.choice(ways)
    how(r, path)
    return how.__name__.strip("_")


Damage = Callable[[Random, Path], None]


def _fitting(path: Path) -> list[Damage]:
    """Content is damaged more often than the file as a whole: there are more ways to."""
    if path.suffix == ".json":
        return [*BYTES, *[_json] * 60]
    if path.suffix == ".jsonl":
        return [*BYTES, *[_line] * 40, *[_rehashed] * 30]
    if path.suffix == ".safetensors":
        return [*BYTES, *[_tensors] * 15, *[_restated] * 30, *[_header] * 20]
    if path.suffix in (".npz", ".npy"):
        return [*BYTES, *[_arrays if path.suffix == ".npz" else _flipped] * 40]
    return list(BYTES)


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
    path.write_bytes(path.read_bytes() + more * r.randint(1, 9))


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


AS_A_WHOLE: list[Damage] = [
    _gone,
    _emptied,
    _continued,
    _folder,
    _loop,
    _dangling,
    _pipe,
]
"""There are few ways to: it is seldom done."""
BYTES: list[Damage] = [*[_cut] * 4, *[_flipped] * 16, *[_replaced] * 4]


# ------------------------------------------------------------------ JSON
def _json(r: Random, path: Path) -> None:
    path.write_text(mutated(r, path.read_text("utf-8")), "utf-8", "surrogatepass")


def mutated(r: Random, text: str) -> str:
    """JSON with one to three of its values, names or numbers changed."""
    content = json.loads(text)
    for _ in range(r.choice([1, 1, 2, 2, 3, 4, 6])):
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
TYPES = (torch.float32, torch.float64, torch.float16, torch.int64, torch.uint8)


def _tensor(r: Random) -> torch.Tensor:
    """One of a few odd tensors, or one of any shape, kind and value."""
    if r.random() < 0.2:
        return r.choice(TENSORS)()
    value = r.choice([r.uniform(-5, 5), r.uniform(-1, 1) * 10 ** r.randint(0, 37)])
    return torch.full(_shape(r), value).to(r.choice(TYPES))


def _shape(r: Random) -> tuple[int, ...]:
    return tuple(r.choice([0, 1, 2, 3, 3, 4, 5, 60]) for _ in range(r.randint(0, 3)))


def _tensors(r: Random, path: Path) -> None:
    """Other tensors under some of the names."""
    from safetensors import safe_open

    with safe_open(path, "pt") as file:
        facts = dict(file.metadata() or {})
        found = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    name = r.choice(list(found))
    pick = r.random()
    if pick < 0.6:
        found[name] = _tensor(r)
    elif pick < 0.8:
        del found[name]
    else:
        found[values.text(r).encode("utf-8", "replace").decode()] = _tensor(r)
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
        state[name] = _tensor(r)
    else:
        del state[name]
    totals = r.choice([found.totals, found.totals[:1], found.totals.float()])
    t = r.choice([found.round, found.round, 0, r.randint(1, 10**6), -1])
    seconds = r.choice([1.0, r.uniform(-2, 9), 1e300])
    store(path, Checkpoint(t, seconds, state, totals))


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
KINDS = ("f4", "f8", "f2", "i8", "i4", "u1", "?", ">f4", ">i2", "c8", "U3", "S2")


def array(r: Random) -> object:
    """One of a few odd arrays, or one of any shape, kind and values."""
    if r.random() < 0.2:
        return r.choice(ARRAYS)()
    draw = np.random.default_rng(r.getrandbits(32))
    size = r.choice([0.5, 1.0, 3.0, 200.0, 1e6, 1e30])
    with np.errstate(all="ignore"):
        return (draw.standard_normal(_shape(r)) * size).astype(r.choice(KINDS))


def _nearly(r: Random, array: np.ndarray) -> np.ndarray:
    """The same with some values, another end, or another kind."""
    pick = r.random() if array.size and array.dtype.kind in "fiu" else 0
    if pick < 0.3:
        return array[: r.randint(0, len(array))]
    with np.errstate(all="ignore"):
        if pick < 0.5:
            return array.astype(r.choice(KINDS))
        flat = array.astype(r.choice(["f4", "f8", "i8"])).ravel()
        for _ in range(r.randint(1, 4)):
            odd = (np.nan, np.inf, -1, 7, 2**31, r.uniform(-9, 9))
            value = r.choice(odd)
            flat[r.randrange(flat.size)] = value if flat.dtype.kind == "f" else 2**40
        return flat.reshape(array.shape)


def _arrays(r: Random, path: Path) -> None:
    """Other arrays under some of the names, or members that are none."""
    import zipfile

    if r.random() < 0.2:
        with zipfile.ZipFile(path, "w") as file:
            for name in r.sample(["x.npy", "y.npy", "x", "y", "../x.npy"], 3):
                begun = r.choice([b"", b"\x93NUMPY", b"text", b"[" * 99])
                content = begun + r.randbytes(r.randint(0, 20))
                file.writestr(zipfile.ZipInfo(name), content)  # no time in it
        return
    with np.load(path, allow_pickle=False) as loaded:
        found: dict[str, object] = dict(loaded)
    for name in r.sample(["x", "y", "x_test", "y_test"], r.randint(1, 3)):
        if r.random() < 0.2:
            found.pop(name, None)
        elif name in found and r.random() < 0.6:
            found[name] = _nearly(r, np.asarray(found[name]))
        else:
            found[name] = array(r)
    np.savez(path, **found)  # type: ignore[arg-type]
