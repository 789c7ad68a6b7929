"""The bundled digits: always there, always split the same."""

from __future__ import annotations

import torch

from dpdl.tasks.data import fetch, load
from dpdl.tasks.data.digits import TEST_RECORDS, digits


def test_digits_are_always_there_and_always_split_the_same() -> None:
    data = load("digits")
    assert data.x.shape == (1437, 1, 8, 8)
    assert data.x_test.shape == (360, 1, 8, 8)
    assert (float(data.x.min()), float(data.x.max())) == (-1.0, 1.0)
    assert (
        data.fingerprint()
        == "48b00c747ec613cb80744d3de896dbabd7b789d0864bfdcff66a81743eedb435"
    )
    assert int(torch.bincount(data.y_test).min()) >= 20
    assert fetch("digits").is_dir()


def test_digits_training_and_test_records_together_are_scikit_learns() -> None:
    from sklearn.datasets import load_digits

    data = load("digits")
    rows = torch.cat([data.x, data.x_test]).reshape(-1, 64)
    labelled = torch.cat(
        [(rows + 1) * 8, torch.cat([data.y, data.y_test])[:, None].float()], dim=1
    )
    bunch = load_digits()
    expected = [
        (*row, label) for row, label in zip(bunch.data, bunch.target, strict=True)
    ]
    assert sorted(map(tuple, labelled.tolist())) == sorted(expected)


def test_the_split_is_by_records_and_keeps_their_order() -> None:
    from sklearn.datasets import load_digits

    data = digits()
    assert len(data.y_test) == TEST_RECORDS
    target = load_digits().target.tolist()
    assert data.y[:4].tolist() == target[1:5]  # record 0 is a test record
    assert data.y_test[0] == target[0]
    assert str(data.form) == "(1, 8, 8) float32"
    assert data.targets.count == 10
