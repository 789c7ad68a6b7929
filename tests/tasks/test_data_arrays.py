"""Arrays of the user: which are accepted, and the tensors they become."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
import torch

from dpdl.errors import InputError
from dpdl.tasks.data import load
from dpdl.tasks.data.arrays import (
    as_array,
    held_out,
    read_arrays,
    records,
    targets,
    tensors_of,
)
from dpdl.tasks.targets import Classes, Labels, Numbers, Targets

IMAGES = np.random.default_rng(0).integers(0, 256, (20, 6, 5), dtype=np.uint8)
LABELS = np.arange(20) % 4


def save(path: Path, **arrays: np.ndarray) -> str:
    np.savez(path, **arrays)
    return str(path)


# ------------------------------------------------------------------ files
def test_missing_truncated_and_damaged_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        load(str(tmp_path / "none.npz"))
    (tmp_path / "folder.npz").mkdir()
    with pytest.raises(InputError, match="does not exist"):
        load(str(tmp_path / "folder.npz"))
    whole = Path(save(tmp_path / "a.npz", x=IMAGES, y=LABELS)).read_bytes()
    for cut in (0, 1, 30, len(whole) // 2, len(whole) - 1):
        (tmp_path / "b.npz").write_bytes(whole[:cut])
        with pytest.raises(InputError, match=r"b\.npz cannot be read"):
            load(str(tmp_path / "b.npz"))
    at = whole.index(IMAGES.tobytes()[:50]) + 10
    (tmp_path / "b.npz").write_bytes(
        whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]
    )
    with pytest.raises(InputError, match="cannot be read"):
        load(str(tmp_path / "b.npz"))


def test_single_array_under_the_name_npz_is_refused(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    np.save(buffer, IMAGES)
    (tmp_path / "a.npz").write_bytes(buffer.getvalue())
    with pytest.raises(InputError, match=r"not an \.npz archive"):
        load(str(tmp_path / "a.npz"))


def test_other_arrays_of_a_file_are_not_read(tmp_path: Path) -> None:
    found = read_arrays(save(tmp_path / "a.npz", x=IMAGES, note=np.array([object()])))
    assert set(found) == {"x"}


def test_a_file_may_be_in_the_home_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    save(tmp_path / "a.npz", x=IMAGES)
    np.testing.assert_array_equal(read_arrays("~/a.npz")["x"], IMAGES)


def test_a_file_gives_two_tensors_or_four(tmp_path: Path) -> None:
    two = tensors_of(save(tmp_path / "a.npz", x=IMAGES, y=LABELS), Classes)
    assert [tuple(one.shape) for one in two] == [(20, 1, 6, 5), (20,)]
    arrays = {"x": IMAGES, "y": LABELS, "x_test": IMAGES[:3], "y_test": LABELS[:3]}
    four = tensors_of(save(tmp_path / "b.npz", **arrays), Classes)
    assert [len(one) for one in four] == [20, 20, 3, 3]
    assert torch.equal(four[0], two[0])


@pytest.mark.parametrize("missing", ["x", "y", "x_test", "y_test"])
def test_a_file_that_lacks_an_array_is_refused(tmp_path: Path, missing: str) -> None:
    arrays = {"x": IMAGES, "y": LABELS, "x_test": IMAGES, "y_test": LABELS}
    del arrays[missing]
    with pytest.raises(
        InputError, match=r"a\.npz holds the arrays .*must hold x and y"
    ):
        tensors_of(save(tmp_path / "a.npz", **arrays), Classes)


# ------------------------------------------------------------------ test records
@pytest.mark.parametrize(("count", "test"), [(2, 1), (9, 1), (10, 2), (20, 4)])
def test_a_fifth_of_the_records_is_held_out(count: int, test: int) -> None:
    x = torch.arange(count)
    train_x, train_y, test_x, test_y = held_out("mine", x, -x)
    assert len(test_x) == test
    assert sorted([*train_x.tolist(), *test_x.tolist()]) == x.tolist()
    assert torch.equal(train_y, -train_x)
    assert torch.equal(test_y, -test_x)
    assert train_x.tolist() == sorted(train_x.tolist())


def test_the_same_records_are_held_out_every_time() -> None:
    x = torch.arange(20)
    assert held_out("a", x, x)[2].tolist() == held_out("b", x, x)[2].tolist()


@pytest.mark.parametrize(("x", "y"), [(1, 1), (0, 0), (5, 4)])
def test_too_few_records_cannot_be_split(x: int, y: int) -> None:
    with pytest.raises(InputError, match=f"mine: {x} records x and {y} labels y"):
        held_out("mine", torch.zeros(x), torch.zeros(y))


# ------------------------------------------------------------------ records
def test_grey_images_get_a_channel_and_pixels_stay_bytes() -> None:
    found = records("mine", "x", IMAGES)
    assert (tuple(found.shape), found.dtype) == ((20, 1, 6, 5), torch.uint8)
    assert found[3, 0].numpy().tobytes() == IMAGES[3].tobytes()


def test_records_are_a_copy() -> None:
    x = np.zeros((2, 3))
    found = records("mine", "x", x)
    x += 1
    assert not found.any()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.longdouble])
def test_floating_numbers_become_float32(dtype: type) -> None:
    found = records("mine", "x", np.array([[0.5, -2.0]], dtype=dtype))
    assert found.dtype == torch.float32
    assert found.tolist() == [[0.5, -2.0]]


def test_memory_in_another_order_is_taken_as_well() -> None:
    x = np.asfortranarray(np.arange(12.0).reshape(3, 4))[::-1]
    assert records("mine", "x", x).tolist() == x.tolist()


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (IMAGES.astype(np.int64), "uint8 pixels or floating numbers, not int64"),
        (IMAGES > 3, "not bool"),
        (IMAGES.astype(complex), "not complex128"),
        (IMAGES.astype(str), "not <U"),
        (np.zeros((2, 8, 8, 3)), r"\(2, 8, 8, 3\) looks like \(n, H, W, C\)"),
        (np.zeros((2, 8, 8, 1), np.uint8), r"transpose it to \(n, C, H, W\)"),
    ],
)
def test_other_records_are_refused(x: np.ndarray, message: str) -> None:
    with pytest.raises(InputError, match=f"^mine: x_test .*{message}"):
        records("mine", "x_test", x)


def test_small_images_with_channels_first_are_not_mistaken() -> None:
    assert records("mine", "x", np.zeros((2, 3, 8, 3))).shape == (2, 3, 8, 3)
    assert records("mine", "x", np.zeros((2, 8, 8, 4))).shape == (2, 8, 8, 4)


# ------------------------------------------------------------------ targets
@pytest.mark.parametrize(
    ("kind", "y", "expected"),
    [
        (Classes, np.array([0, 3], dtype=np.uint8), torch.tensor([0, 3])),
        (Labels, np.array([[0, 1]], dtype=bool), torch.tensor([[0.0, 1.0]])),
        (Labels, np.array([[0, 1]]), torch.tensor([[0.0, 1.0]])),
        (Numbers, np.array([0.5, 2.0]), torch.tensor([[0.5], [2.0]])),
        (Numbers, np.array([[1, 2]]), torch.tensor([[1.0, 2.0]])),
    ],
)
def test_targets_become_the_tensors_of_their_kind(
    kind: type[Targets], y: np.ndarray, expected: torch.Tensor
) -> None:
    found = targets("mine", "y", y, kind)
    assert found.dtype == expected.dtype
    assert torch.equal(found, expected)


@pytest.mark.parametrize(
    ("kind", "y", "message"),
    [
        (Classes, np.array([0.0]), "integers of shape .*say so with predict"),
        (Classes, np.array([[0]]), r"not int64 of shape \(1, 1\)"),
        (Classes, np.array([True]), "not bool"),
        (Classes, np.array([65_536]), "the label 65536, allowed are 0 to 65535"),
        (Classes, np.array([2**63], np.uint64), "allowed are 0 to 65535"),
        (Labels, np.array([0, 1]), r"0 and 1 of shape \(n, labels\)"),
        (Labels, np.array([[0.0, 1.0]]), "not float64"),
        (Numbers, np.zeros((2, 2, 2)), r"shape \(n,\) or \(n, k\)"),
        (Numbers, np.array(["1"]), "must be numbers"),
        (Numbers, np.array([1j]), "not complex128"),
    ],
)
def test_other_targets_are_refused(
    kind: type[Targets], y: np.ndarray, message: str
) -> None:
    with pytest.raises(InputError, match=f"^mine: y_test .*{message}"):
        targets("mine", "y_test", y, kind)


def test_the_largest_label_and_no_labels_are_accepted() -> None:
    assert targets("mine", "y", np.array([65_535]), Classes).tolist() == [65_535]
    assert targets("mine", "y", np.array([], dtype=int), Classes).tolist() == []


def test_no_numbers_and_numbers_beyond_float32_are_left_to_the_data_set() -> None:
    assert targets("mine", "y", np.zeros((0, 2)), Numbers).shape == (0, 2)
    assert targets("mine", "y", np.zeros(0), Numbers).shape == (0, 1)
    assert targets("mine", "y", np.array([1e300]), Numbers).tolist() == [[np.inf]]


# ------------------------------------------------------------------ values of functions
def test_tensors_and_arrays_are_taken() -> None:
    array = np.arange(3)
    assert as_array("own:data", array) is array
    trained = torch.ones(2, requires_grad=True)
    np.testing.assert_array_equal(as_array("own:data", trained), [1, 1])
    assert as_array("own:data", torch.ones(2).bfloat16()).dtype == np.float32


@pytest.mark.parametrize("value", [[1.0], 3, None, "x"])
def test_other_values_are_refused(value: object) -> None:
    with pytest.raises(InputError, match="'own:data' must return tensors or numpy"):
        as_array("own:data", value)
