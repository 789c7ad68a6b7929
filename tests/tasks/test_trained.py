"""A trained model takes records as they are stored, and refuses them in any other unit."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from dpdl.errors import InputError
from dpdl.tasks import features, models
from dpdl.tasks.data import Dataset
from dpdl.tasks.data.form import Form
from dpdl.tasks.targets import Classes
from dpdl.tasks.trained import Trained

PIXELS = Form((1, 16, 16), Classes(3), torch.uint8, (0.25,), (0.5,))


def pixels(records: int) -> torch.Tensor:
    draw = torch.Generator().manual_seed(3)
    return torch.randint(0, 256, (records, 1, 16, 16), generator=draw).to(torch.uint8)


def test_pixels_are_scaled_before_the_module_sees_them() -> None:
    seen = []

    class Spy(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(1))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            seen.append(x)
            return x.flatten(1)

    x = pixels(4)
    Trained(Spy(), PIXELS)(x)
    torch.testing.assert_close(seen[0], (x / 255 - 0.25) / 0.5)


def test_features_are_those_that_training_uses() -> None:
    x, y = pixels(6), torch.arange(6) % 3
    data = Dataset("mine", x, y, x, y, 3, PIXELS.mean, PIXELS.std)
    scattered = features.with_features(data, features.Scattered(data.form))
    module = models.build("scatter-linear", scattered.shape, 3, seed=0)
    nn.init.normal_(module[1].weight, generator=torch.Generator().manual_seed(0))
    trained = Trained(module, PIXELS, features.Scattered(PIXELS))
    assert torch.equal(trained(x), module(scattered.x.float()))
    assert features.features_of("mlp", PIXELS) is None


def test_it_is_in_evaluation_mode() -> None:
    module = nn.Sequential(nn.Flatten(), nn.Dropout(0.5), nn.Linear(256, 3))
    trained = Trained(module, PIXELS)
    assert not trained.training and not module[1].training
    assert torch.equal(trained(pixels(2)), trained(pixels(2)))


@pytest.mark.parametrize(
    ("form", "records"),
    [
        (PIXELS, pixels(2).float() / 255),
        (PIXELS, pixels(2)[..., :8]),
        (PIXELS, pixels(2)[0]),
        (Form((8,), Classes(3)), torch.zeros(2, 8, dtype=torch.uint8)),
    ],
    ids=["pixels that are scaled already", "another shape", "one record", "no pixels"],
)
def test_another_unit_or_shape_is_refused(form: Form, records: torch.Tensor) -> None:
    trained = Trained(nn.Sequential(nn.Flatten(), nn.LazyLinear(3)), form)
    with pytest.raises(InputError, match=r"takes records of shape \(n, "):
        trained(records)
