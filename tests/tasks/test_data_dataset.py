from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from dpdl.errors import InputError
from dpdl.tasks.data import Dataset


def small(**changes: object) -> Dataset:
    parts = {
        "name": "small",
        "x": torch.arange(2 * 3 * 2 * 2, dtype=torch.uint8).reshape(2, 3, 2, 2) * 10,
        "y": torch.tensor([0, 1]),
        "x_test": torch.zeros(1, 3, 2, 2, dtype=torch.uint8),
        "y_test": torch.tensor([1]),
        "classes": 2,
        "mean": (0.5, 0.4, 0.3),
        "std": (0.5, 0.2, 0.1),
    }
    return Dataset(**{**parts, **changes})  # type: ignore[arg-type]


def test_pixels_are_normalised_channel_by_channel() -> None:
    data = small()
    rows = data.inputs(data.x, torch.float64)
    for channel in range(3):
        expected = (data.x[:, channel].double() / 255 - data.mean[channel]) / data.std[
            channel
        ]
        torch.testing.assert_close(rows[:, channel], expected, rtol=0, atol=1e-12)
    assert data.x.dtype == torch.uint8
    torch.testing.assert_close(data.inputs(data.x, torch.float32), rows.float())


def test_leading_dimensions_do_not_matter_to_normalisation() -> None:
    data = small()
    stacked = data.inputs(data.x.reshape(2, 1, 3, 2, 2), torch.float32)
    torch.testing.assert_close(
        stacked[:, 0], data.inputs(data.x, torch.float32), rtol=0, atol=0
    )


def test_floating_data_pass_unchanged_and_are_never_modified() -> None:
    x = torch.randn(4, 5)
    data = Dataset(
        "f",
        x,
        torch.tensor([0, 1, 0, 1]),
        x,
        torch.tensor([0, 1, 0, 1]),
        2,
        (0.0,),
        (1.0,),
    )
    assert torch.equal(data.inputs(x, torch.float64), x.double())
    assert data.shape == (5,)


def test_fingerprint_tells_values_shapes_and_dtypes_apart() -> None:
    data = small()
    assert (
        data.fingerprint()
        == small().fingerprint()
        == replace(data, name="other").fingerprint()
    )
    changed = data.x.clone()
    changed[1, 2, 1, 1] += 1
    turned = data.x.transpose(2, 3)
    others = [
        small(x=changed),
        small(x=turned),
        small(y=torch.tensor([1, 0])),
        small(x=data.x.float(), x_test=data.x_test.float()),
        small(x=data.x.reshape(2, 3, 1, 4), x_test=data.x_test.reshape(1, 3, 1, 4)),
        small(x=data.x[:1], y=data.y[:1]),
        small(
            x_test=torch.cat([data.x_test, data.x_test]), y_test=torch.tensor([1, 1])
        ),
    ]
    assert len({other.fingerprint() for other in [data, *others]}) == 1 + len(others)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"y": torch.tensor([0, 1, 0])}, "3 labels for 2 records"),
        ({"y": torch.tensor([0, 2])}, "labels 0 to 2, allowed are 0 to 1"),
        ({"y_test": torch.tensor([-1])}, "y_test has labels -1"),
        ({"y": torch.tensor([0.0, 1.0])}, "int64"),
        ({"y": torch.tensor([[0], [1]])}, r"shape \(n,\)"),
        (
            {"x": torch.zeros(2, 3, 2, 2, dtype=torch.int32)},
            "uint8, float16, float32 or float64",
        ),
        (
            {
                "x": torch.zeros(0, 3, 2, 2, dtype=torch.uint8),
                "y": torch.tensor([]).long(),
            },
            "at least one",
        ),
        ({"x": torch.zeros(2, 3, 4, dtype=torch.uint8)}, "features"),
        (
            {"x_test": torch.zeros(1, 3, 2, 3, dtype=torch.uint8)},
            "x_test must look like x",
        ),
        ({"x_test": torch.zeros(1, 3, 2, 2)}, "x_test must look like x"),
        (
            {
                "x": torch.full((2, 3, 2, 2), torch.nan),
                "x_test": torch.zeros(1, 3, 2, 2),
            },
            "NaN",
        ),
        ({"mean": (0.5, 0.5)}, "1 or 3 finite numbers"),
        ({"std": (0.5, 0.0, 0.5)}, "greater than 0"),
        ({"std": (float("nan"),)}, "finite"),
        ({"x": [1, 2]}, "list"),
    ],
)
def test_impossible_data_sets_do_not_construct(
    changes: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        small(**changes)
