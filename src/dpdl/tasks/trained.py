"""A trained model that takes records as they are stored.

What training did to a record before the model saw it is part of it: the scaling of pixels, and the
fixed features of the models that have them.
"""

from __future__ import annotations

from typing import final

import torch
from torch import Tensor, nn

from dpdl.errors import InputError
from dpdl.tasks.data.form import Form
from dpdl.tasks.features import Features


@final
class Trained(nn.Module):
    """A module behind the scaling and the features it was trained with, in evaluation mode.

    `trained(records)` takes `(n, *form.shape)` in the number type of the stored records: pixels as
    uint8 from 0 to 255, others as floating numbers. It returns a row of outputs for each record,
    logits for classes. `module` is the bare module, which takes scaled inputs.
    """

    def __init__(
        self, module: nn.Module, form: Form, features: Features | None = None
    ) -> None:
        super().__init__()
        self.module = module
        self.form = form
        self.features = features
        self.eval()

    def forward(self, records: Tensor) -> Tensor:
        """Outputs for records; those in another unit or shape are refused."""
        self._check(records)
        dtype = next(self.module.parameters()).dtype
        seen = self.features.of(records) if self.features else None
        x = self.form.inputs(records, dtype) if seen is None else seen.to(dtype)
        outputs: Tensor = self.module(x)
        return outputs

    def _check(self, records: Tensor) -> None:
        pixels = self.form.dtype == torch.uint8
        right = records.dtype == torch.uint8 if pixels else records.is_floating_point()
        if not right or tuple(records.shape[1:]) != self.form.shape:
            unit = "uint8 pixels from 0 to 255" if pixels else "floating numbers"
            given = f"{records.dtype} of shape {tuple(records.shape)}"
            raise InputError(
                f"This model takes records of shape (n, {', '.join(map(str, self.form.shape))}) "
                f"as {unit}, not {given}."
            )
