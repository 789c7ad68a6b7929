from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from dpdl.errors import InputError
from dpdl.tasks.data import Dataset, load

IMAGES = np.random.default_rng(0).integers(0, 256, (20, 6, 5), dtype=np.uint8)
LABELS = np.arange(20) % 4


def save(path: Path, **arrays: np.ndarray) -> str:
    np.savez(path, **arrays)
    return str(path)


def test_grey_images_get_a_channel_and_a_fifth_is_held_out(tmp_path: Path) -> None:
    path = save(tmp_path / "a.npz", x=IMAGES, y=LABELS)
    data = load(path)
    assert data.x.shape == (16, 1, 6, 5)
    assert data.x_test.shape == (4, 1, 6, 5)
    assert data.classes == 4
    assert data.x.dtype == torch.uint8
    both = torch.cat([data.x, data.x_test]).reshape(20, -1).tolist()
    assert sorted(both) == sorted(IMAGES.reshape(20, -1).tolist())
    assert load(path).fingerprint() == data.fingerprint()
    label_of = {
        image.tobytes(): int(label) for image, label in zip(IMAGES, LABELS, strict=True)
    }
    assert [label_of[image.numpy().tobytes()] for image in data.x] == data.y.tolist()


def test_given_test_records_are_used_and_floats_become_float32(tmp_path: Path) -> None:
    x = np.linspace(-1, 1, 12).reshape(4, 3)
    y = np.array([0, 1, 2, 0], dtype=np.uint8)
    data = load(
        save(tmp_path / "a.npz", x=x, y=y, x_test=x[:2], y_test=np.array([1, 3]))
    )
    assert data.x.dtype == torch.float32
    assert data.y.dtype == torch.int64
    assert data.y_test.tolist() == [1, 3]
    assert data.classes == 4
    assert (data.mean, data.std) == ((0.0,), (1.0,))
    torch.testing.assert_close(
        data.inputs(data.x, torch.float32), torch.from_numpy(x).float()
    )


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": IMAGES}, "must hold x and y"),
        (
            {"x": IMAGES, "y": LABELS, "x_test": IMAGES},
            "both or none of x_test and y_test",
        ),
        ({"x": IMAGES, "y": LABELS[:5]}, "20 records x and 5 labels y"),
        ({"x": IMAGES, "y": LABELS - 1}, "allowed are 0 to"),
        ({"x": IMAGES, "y": LABELS * 1e0}, "must be integers"),
        ({"x": IMAGES, "y": LABELS[:, None]}, r"integers of shape \(n,\)"),
        ({"x": IMAGES, "y": LABELS + 10**6}, "allowed are 0 to 65535"),
        (
            {"x": IMAGES, "y": LABELS.astype(np.uint64) + 2**63},
            "allowed are 0 to 65535",
        ),
        (
            {"x": IMAGES.astype(np.int64), "y": LABELS},
            "uint8 pixels or floating numbers, not int64",
        ),
        ({"x": IMAGES.astype(complex), "y": LABELS}, "not complex128"),
        ({"x": IMAGES[0, 0], "y": LABELS[:5]}, r"\(n, features\)"),
        (
            {"x": np.zeros((20, 8, 8, 3), dtype=np.uint8), "y": LABELS},
            r"transpose it to \(n, C, H, W\)",
        ),
        (
            {"x": np.zeros((20, 8, 8, 1)), "y": LABELS},
            r"transpose it to \(n, C, H, W\)",
        ),
        ({"x": np.full((20, 3), np.nan), "y": LABELS}, "NaN or infinite"),
        ({"x": np.full((20, 3), 1e300), "y": LABELS}, "NaN or infinite"),
        ({"x": IMAGES[:1], "y": LABELS[:1]}, "at least 2"),
        ({"x": IMAGES[:0], "y": LABELS[:0]}, "at least 2"),
        (
            {"x": IMAGES, "y": LABELS, "x_test": IMAGES[:0], "y_test": LABELS[:0]},
            "at least one record",
        ),
        (
            {"x": IMAGES, "y": LABELS, "x_test": IMAGES[:, :3], "y_test": LABELS},
            "x_test must look like x",
        ),
        ({"x": np.array([{"a": 1}] * 20), "y": LABELS}, "plain arrays"),
        ({}, "holds the arrays none"),
    ],
)
def test_wrong_arrays_are_refused(
    tmp_path: Path, arrays: dict[str, np.ndarray], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        load(save(tmp_path / "a.npz", **arrays))


def test_colour_images_with_channels_first_are_accepted(tmp_path: Path) -> None:
    path = save(tmp_path / "a.npz", x=np.zeros((20, 3, 8, 3), dtype=np.uint8), y=LABELS)
    assert load(path).shape == (3, 8, 3)


@pytest.fixture
def own_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module of the user in the current directory, which is not yet on the module path."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    name = f"own_code_{abs(hash(str(tmp_path)))}"
    (tmp_path / f"{name}.py").write_text(
        """
import numpy as np, torch
from dpdl.tasks.data import Dataset
x, y = torch.rand(6, 4), torch.arange(6) % 3
def tensors(): return x, y, x[:2], y[:2]
def arrays(): return [v.numpy() for v in tensors()]
def dataset(): return Dataset("mine", x, y, x, y, 3, (0.0,), (1.0,))
def half(): return x.bfloat16(), y, x.bfloat16(), y
def broken(): raise KeyError("no such\\nfile")
def leaves(): raise SystemExit(3)
def three(): return x, y, x
def nothing(): return None
def lists(): return [[1.0]], [0], [[1.0]], [0]
def needs(argument): return argument
number = 5
class Space:
    @staticmethod
    def inner(): return tensors()
"""
    )
    return name


@pytest.mark.parametrize("function", ["tensors", "arrays", "half", "Space.inner"])
def test_own_function_gives_a_data_set(own_code: str, function: str) -> None:
    data = load(f"{own_code}:{function}")
    assert isinstance(data, Dataset)
    assert data.shape == (4,)
    assert data.x.dtype == torch.float32
    assert data.classes == 3


def test_own_function_may_return_a_data_set(own_code: str) -> None:
    assert load(f"{own_code}:dataset").name == "mine"


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("broken", r"failed when it was called: KeyError: .*no such"),
        ("leaves", "SystemExit: 3"),
        ("three", "not 3 values"),
        ("nothing", "not NoneType"),
        ("lists", "tensors or numpy arrays, not list"),
        ("needs", "TypeError: .*argument"),
        ("number", "must be a function or a class, not a int"),
        ("zzz", "has no zzz, but for instance .*tensors"),
        ("tensor", "has no tensor, but for instance tensors"),
        ("", "not of the form module:name"),
    ],
)
def test_wrong_own_functions_are_refused_in_one_line(
    own_code: str, function: str, message: str
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        load(f"{own_code}:{function}")
    assert "\n" not in str(caught.value)


def test_modules_that_do_not_import_are_refused(own_code: str, tmp_path: Path) -> None:
    (tmp_path / f"{own_code}_a.py").write_text("import not_there_at_all")
    (tmp_path / f"{own_code}_b.py").write_text("def f(:")
    (tmp_path / f"{own_code}_c.py").write_text("1/0")
    for module, reason in (
        (f"{own_code}_a", "No module named 'not_there_at_all'"),
        (f"{own_code}_b", "SyntaxError"),
        (f"{own_code}_c", "ZeroDivisionError"),
        ("no_such_module_x", "No module named 'no_such_module_x'"),
    ):
        with pytest.raises(InputError, match=f"cannot be imported: .*{reason}"):
            load(f"{module}:f")
    for spec in ("a:b:c", "1a:b", ":b", "a-b:c"):
        with pytest.raises(InputError, match="not of the form module:name"):
            load(spec)
