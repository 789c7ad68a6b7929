"""Targets: what classes, labels and numbers are, and how a text names them."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from dpdl.errors import InputError
from dpdl.tasks.scores import SCORES
from dpdl.tasks.targets import (
    CLASSES,
    Classes,
    Labels,
    Numbers,
    Predicted,
    Targets,
    predicted,
)

KINDS = (Classes(3), Labels(3), Numbers(3))


def rows(*values: list[float]) -> Tensor:
    return torch.tensor(values, dtype=torch.float32)


# ------------------------------------------------------------------ what they are
@pytest.mark.parametrize(
    ("targets", "y"),
    [
        (Classes(3), torch.tensor([0, 2, 1])),
        (Labels(2), rows([0, 1], [1, 1])),
        (Numbers(2), rows([-1.5, 1e30], [0, 0])),
    ],
)
def test_right_targets_are_accepted(targets: Targets, y: Tensor) -> None:
    targets.check("y", y)
    assert targets.values(y, torch.float64).tolist() == y.tolist()


@pytest.mark.parametrize(
    ("targets", "y", "message"),
    [
        (Classes(3), torch.tensor([0, 3]), "labels 0 to 3, allowed are 0 to 2"),
        (Classes(3), torch.tensor([-1, 0]), "labels -1 to 0"),
        (Classes(3), torch.tensor([0.0]), r"int64 tensor of shape \(n,\)"),
        (Classes(3), torch.tensor([[0]]), r"torch\.int64 \(1, 1\)"),
        (Labels(2), rows([0, 2]), "0 and 1 only"),
        (Labels(2), rows([0, torch.nan]), "0 and 1 only"),
        (Labels(2), rows([0, 0.5]), "0 and 1 only"),
        (Labels(2), rows([0, 1, 1]), r"\(n, 2\), not torch\.float32 \(1, 3\)"),
        (Labels(2), torch.tensor([[0, 1]]), "must be a float32 tensor"),
        (Labels(2), torch.tensor([0.0, 1.0]), r"shape \(n, 2\)"),
        (Numbers(1), rows([torch.inf]), "NaN or infinite"),
        (Numbers(1), rows([torch.nan]), "NaN or infinite"),
        (Numbers(1), rows([1, 2]), r"shape \(n, 1\)"),
        (Numbers(1), torch.tensor([[1.0]], dtype=torch.float64), "float32"),
    ],
)
def test_wrong_targets_are_refused_by_name(
    targets: Targets, y: Tensor, message: str
) -> None:
    with pytest.raises(InputError, match=f"^mine: y .*{message}"):
        targets.check("mine: y", y)


@pytest.mark.parametrize("targets", KINDS, ids=str)
def test_blank_targets_are_right_targets(targets: Targets) -> None:
    blank = targets.blank(4)
    assert len(blank) == 4
    targets.check("blank", blank)


def test_losses_take_classes_as_they_are_and_others_in_their_own_precision() -> None:
    y = torch.tensor([0, 2])
    assert Classes(3).values(y, torch.float64) is y
    for kind in (Labels(1), Numbers(1)):
        values = kind.values(rows([1], [0]), torch.float64)
        assert values.dtype == torch.float64
        assert values.tolist() == [[1], [0]]


@pytest.mark.parametrize("targets", KINDS, ids=str)
def test_every_kind_has_a_default_score(targets: Targets) -> None:
    assert targets.score in SCORES


def test_kinds_with_equal_counts_are_different() -> None:
    assert len({*KINDS, Classes(3), Classes(4)}) == 4
    assert [str(kind) for kind in KINDS] == ["3 classes", "3 labels", "3 numbers"]


# ------------------------------------------------------------------ how a text names them
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, Predicted(Classes, None)),
        ("classes", Predicted(Classes, None)),
        ("labels", Predicted(Labels, None)),
        ("numbers", Predicted(Numbers, None)),
        ("3 classes", Predicted(Classes, 3)),
        ("1 labels", Predicted(Labels, 1)),
        ("99999 numbers", Predicted(Numbers, 99_999)),
    ],
)
def test_a_text_says_what_is_predicted(text: str | None, expected: Predicted) -> None:
    assert predicted(text) == expected
    assert predicted(str(expected)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "0 classes",
        "00000 classes",
        "-1 classes",
        "1.5 classes",
        "x classes",
        "classes ",
        " classes",
        "3  classes",
        " 3 classes",
        "3 classes ",
        "3classes",
        "3 4 classes",
        "3\tclasses",
        "3",
        "Classes",
        "class",
        "100000 classes",
        "9" * 5000 + " classes",
        "٣ classes",
        "² classes",
        "classes 3",
    ],
)
def test_other_texts_are_refused_in_one_sentence(text: str) -> None:
    with pytest.raises(InputError, match=r"predict must be classes, labels or numbers"):
        predicted(text)


def test_the_records_decide_only_what_was_left_open() -> None:
    assert CLASSES.of(7) == Classes(7)
    assert Predicted(Numbers, 2).of(7) == Numbers(2)
