"""The form of a record: what constructs, and how pixels become numbers."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from dpdl.errors import InputError
from dpdl.tasks.data.form import ALLOWED, Form, look
from dpdl.tasks.targets import Classes, Numbers

COLOUR = Form(
    (3, 2, 2), Classes(4), torch.uint8, mean=(0.5, 0.4, 0.3), std=(0.5, 0.2, 0.1)
)


@pytest.mark.parametrize("shape", [(30,), (1, 28, 28), (3, 1, 1)])
@pytest.mark.parametrize("dtype", ALLOWED)
def test_records_are_features_or_images(
    shape: tuple[int, ...], dtype: torch.dtype
) -> None:
    form = Form(shape, Classes(2), dtype)
    assert (form.shape, form.dtype) == (shape, dtype)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"shape": ()}, r"must be \(features,\) or \(channels, height, width\)"),
        ({"shape": (2, 2)}, r"not \(2, 2\)"),
        ({"shape": (1, 2, 3, 4)}, r"not \(1, 2, 3, 4\)"),
        ({"shape": (3, 0, 2)}, "each at least 1"),
        ({"shape": (-3, 2, 2)}, "each at least 1"),
        ({"dtype": torch.int64}, r"float64, not torch\.int64"),
        ({"dtype": torch.bfloat16}, "bfloat16"),
        ({"mean": (0.5, 0.4)}, r"mean must be 1 or 3 finite numbers: \(0\.5, 0\.4\)"),
        ({"mean": ()}, "mean must be 1 or 3 finite numbers"),
        ({"mean": (float("inf"),)}, "finite"),
        ({"std": (1.0,) * 4}, "std must be 1 or 3 finite numbers"),
        ({"std": (float("nan"),)}, "finite"),
        ({"std": (0.5, 0.0, 0.5)}, "std must be greater than 0"),
        ({"std": (-1.0,)}, "std must be greater than 0"),
    ],
)
def test_impossible_forms_do_not_construct(
    changes: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        replace(COLOUR, **changes)  # type: ignore[arg-type]


def test_pixels_are_scaled_channel_by_channel() -> None:
    pixels = torch.arange(24, dtype=torch.uint8).reshape(2, 3, 2, 2) * 10
    found = COLOUR.inputs(pixels, torch.float64)
    for channel in range(3):
        values = pixels[:, channel].double() / 255
        expected = (values - COLOUR.mean[channel]) / COLOUR.std[channel]
        torch.testing.assert_close(found[:, channel], expected, rtol=0, atol=1e-12)
    assert pixels.dtype == torch.uint8


def test_one_value_serves_all_channels() -> None:
    pixels = torch.full((1, 3, 2, 2), 255, dtype=torch.uint8)
    form = replace(COLOUR, mean=(0.5,), std=(0.25,))
    assert torch.equal(
        form.inputs(pixels, torch.float32), torch.full((1, 3, 2, 2), 2.0)
    )


def test_features_of_bytes_have_one_scale_each_or_one_for_all() -> None:
    form = Form((2,), Classes(2), torch.uint8, mean=(0.0, 1.0), std=(1.0, 0.5))
    found = form.inputs(torch.tensor([[255, 255]], dtype=torch.uint8), torch.float64)
    torch.testing.assert_close(found, torch.tensor([[1.0, 0.0]], dtype=torch.float64))


def test_leading_dimensions_do_not_matter() -> None:
    pixels = torch.arange(24, dtype=torch.uint8).reshape(2, 1, 3, 2, 2)
    found = COLOUR.inputs(pixels, torch.float32)
    assert torch.equal(found[:, 0], COLOUR.inputs(pixels[:, 0], torch.float32))


def test_numbers_are_not_scaled_but_take_the_precision_of_the_model() -> None:
    form = Form((2,), Classes(2), mean=(5.0,), std=(2.0,))
    x = torch.tensor([[1.0, -2.0]])
    assert form.inputs(x, torch.float32) is x
    assert torch.equal(form.inputs(x, torch.float64), x.double())
    half = form.inputs(x.half(), torch.float32)
    assert half.dtype == torch.float32


def test_forms_are_equal_when_all_of_it_is() -> None:
    assert replace(COLOUR) == COLOUR
    assert replace(COLOUR, std=(0.5,)) != COLOUR
    assert replace(COLOUR, targets=Numbers(4)) != COLOUR


def test_a_form_in_few_words() -> None:
    assert str(COLOUR) == look((3, 2, 2), torch.uint8) == "(3, 2, 2) uint8"
    assert str(Form((30,), Numbers(2))) == "(30,) float32"


def test_a_model_has_an_output_for_every_class_label_or_number() -> None:
    assert COLOUR.outputs == 4
    assert Form((30,), Numbers(2)).outputs == 2
