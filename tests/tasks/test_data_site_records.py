"""The records of a site: they must have the form that is public, and may lack classes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from dpdl.errors import InputError
from dpdl.tasks.data import Dataset
from dpdl.tasks.data.form import Form
from dpdl.tasks.data.site_records import of_site, public_test
from dpdl.tasks.targets import Classes, Labels, Numbers

FORM = Form((4,), Classes(3))
DRAW = np.random.default_rng(1)
X = DRAW.normal(size=(10, 4)).astype(np.float32)
Y = np.arange(10) % 2  # no record of the last class


def save(path: Path, **arrays: np.ndarray) -> str:
    np.savez(path, **arrays)
    return str(path)


@pytest.fixture
def site(tmp_path: Path) -> str:
    return save(tmp_path / "site.npz", x=X, y=Y)


# ------------------------------------------------------------------ what is taken
def test_a_site_without_some_class_has_all_classes_of_the_plan(site: str) -> None:
    found = of_site(site, FORM)
    assert found.form == FORM
    assert found.classes == 3
    assert found.name == site
    assert (len(found.y), len(found.y_test)) == (8, 2)


def test_a_path_is_a_file_as_well(site: str) -> None:
    assert of_site(Path(site), FORM).fingerprint() == of_site(site, FORM).fingerprint()


def test_own_test_records_are_used_if_there_are_any(tmp_path: Path) -> None:
    path = save(tmp_path / "a.npz", x=X, y=Y, x_test=X[:3], y_test=Y[:3])
    found = of_site(path, FORM)
    assert (len(found.y), len(found.y_test)) == (10, 3)


def test_public_test_records_replace_those_of_the_site(
    site: str, tmp_path: Path
) -> None:
    public = (torch.zeros(5, 4), torch.full((5,), 2))
    own = save(tmp_path / "own.npz", x=X, y=Y, x_test=X[:3], y_test=Y[:3])
    for owner in (site, own):
        found = of_site(owner, FORM, public)
        assert len(found.y) == 10  # none is held out
        assert found.x_test is public[0]
        assert found.y_test is public[1]


def test_pixels_are_scaled_as_the_plan_says(tmp_path: Path) -> None:
    form = Form((1, 2, 2), Classes(3), torch.uint8, (0.3,), (0.7,))
    pixels = np.zeros((10, 2, 2), dtype=np.uint8)
    found = of_site(save(tmp_path / "a.npz", x=pixels, y=Y), form)
    assert (found.mean, found.std) == ((0.3,), (0.7,))
    assert found.form == form


def test_a_data_set_may_stand_in_for_a_file() -> None:
    x, y = torch.from_numpy(X), torch.from_numpy(Y)
    given = Dataset("north", x, y, x[:2], y[:2], classes=2, mean=(0.5,), std=(2.0,))
    found = of_site(given, FORM)
    assert (found.name, found.form) == ("north", FORM)
    assert found.x is x


CODE = """
import torch
def records():
    x = torch.ones(6, 4)
    return x, torch.tensor([0, 1] * 3), x[:2], torch.tensor([1, 1])
def labels():
    x = torch.ones(6, 4)
    y = torch.ones(6, 3, dtype=torch.int64)
    return x, y, x, y
"""


@pytest.fixture
def own_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A module of the user's, which returns records."""
    (tmp_path / "own_site.py").write_text(CODE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    sys.modules.pop("own_site", None)


@pytest.mark.usefixtures("own_code")
def test_a_function_may_return_the_records() -> None:
    found = of_site("own_site:records", FORM)
    assert (found.form, len(found.y), len(found.y_test)) == (FORM, 6, 2)
    labelled = of_site("own_site:labels", replace(FORM, targets=Labels(3)))
    assert labelled.y.dtype == torch.float32


def test_numbers_are_checked_against_the_plan(tmp_path: Path) -> None:
    path = save(tmp_path / "a.npz", x=X, y=X[:, :2])
    form = replace(FORM, targets=Numbers(2))
    assert of_site(path, form).y.shape == (8, 2)
    with pytest.raises(InputError, match=r"shape \(n, 1\)"):
        of_site(path, replace(FORM, targets=Numbers(1)))


# ------------------------------------------------------------------ what is refused
@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": X[:, :3], "y": Y}, r"x is \(3,\) float32, but the plan says \(4,\)"),
        ({"x": X.reshape(10, 1, 2, 2), "y": Y}, r"x is \(1, 2, 2\) float32"),
        ({"x": X.astype(np.uint8), "y": Y}, r"x is \(4,\) uint8"),
        (
            {"x": X, "y": Y, "x_test": X[:, :2], "y_test": Y},
            r"a record in x_test is \(2,\)",
        ),
        ({"x": X, "y": Y + 2}, "allowed are 0 to 2"),
        ({"x": X, "y": Y[:4]}, "10 records x and 4 labels y"),
        ({"x": X, "y": Y * 0.5}, "must be integers"),
        ({"x": X[:1], "y": Y[:1]}, "at least 2"),
        ({"x": X}, "must hold x and y"),
        ({"x": X * np.nan, "y": Y}, "NaN or infinite"),
    ],
)
def test_records_of_another_form_are_refused_with_the_file(
    tmp_path: Path, arrays: dict[str, np.ndarray], message: str
) -> None:
    with pytest.raises(InputError, match=f"site\\.npz.*{message}"):
        of_site(save(tmp_path / "site.npz", **arrays), FORM)


def test_public_test_records_of_another_form_are_refused(site: str) -> None:
    with pytest.raises(InputError, match="a record in x_test"):
        of_site(site, FORM, (torch.zeros(5, 3), torch.zeros(5, dtype=torch.int64)))


@pytest.mark.parametrize("owner", ["none.npz", "folder/none.npz", "c:/none.npz", "no"])
def test_a_site_whose_file_is_missing_is_named(owner: str) -> None:
    with pytest.raises(InputError, match=f"{owner} does not exist"):
        of_site(owner, FORM)


# ------------------------------------------------------------------ public test records
def test_public_records_are_read_from_x_and_y(tmp_path: Path) -> None:
    path = save(tmp_path / "test.npz", x=X, y=Y, x_test=X[:1], y_test=Y[:1])
    x, y = public_test(path, Classes)
    np.testing.assert_array_equal(x.numpy(), X)
    assert y.tolist() == Y.tolist()
    one, target = public_test(save(tmp_path / "b.npz", x=X[:1], y=X[:1, 0]), Numbers)
    assert (one.shape, target.shape) == ((1, 4), (1, 1))


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": X}, "must hold the arrays x and y of the test records"),
        ({"x_test": X, "y_test": Y}, "must hold the arrays x and y"),
        ({"x": X, "y": Y[:3]}, "10 records x and 3 targets y"),
        ({"x": X[:0], "y": Y[:0]}, "0 records x and 0 targets y"),
        ({"x": X, "y": Y * 1.5}, "y must be integers"),
        ({"x": Y, "y": Y}, "x must be uint8 pixels or floating numbers"),
    ],
)
def test_other_public_records_are_refused_with_the_file(
    tmp_path: Path, arrays: dict[str, np.ndarray], message: str
) -> None:
    with pytest.raises(InputError, match=f"test\\.npz.*{message}"):
        public_test(save(tmp_path / "test.npz", **arrays), Classes)
    with pytest.raises(InputError, match="does not exist"):
        public_test(str(tmp_path / "none.npz"), Classes)
