"""How a record of a run looks, in `experiment.json`: a model can be used where no record is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, final

from dpdl.errors import InputError
from dpdl.records import Record

if TYPE_CHECKING:
    from dpdl.tasks.data.form import Form


@final
@dataclass(frozen=True)
class FormFacts(Record):
    """The shape and the number type of a stored record, its scaling, and what is predicted."""

    shape: tuple[int, ...]
    dtype: str  # uint8: pixels from 0 to 255, which are scaled; others are not
    mean: tuple[float, ...]
    std: tuple[float, ...]
    predict: str  # such as `10 classes`

    @property
    def pixels(self) -> bool:
        """Whether records are pixels, which are scaled before a model sees them."""
        return self.dtype == "uint8"

    @property
    def channels(self) -> int:
        """How many means and deviations there may be."""
        return self.shape[0]

    @classmethod
    def of(cls, form: Form) -> Self:
        """The facts of a form."""
        dtype = str(form.dtype).removeprefix("torch.")
        return cls(form.shape, dtype, form.mean, form.std, str(form.targets))

    def form(self) -> Form:
        """The form that these are the facts of; what is none is refused."""
        import torch

        from dpdl.tasks.data.form import Form
        from dpdl.tasks.targets import predicted

        wanted = predicted(self.predict)
        dtype = getattr(torch, self.dtype, None)
        if wanted.count is None or not isinstance(dtype, torch.dtype):
            raise InputError(
                f"A form has a number type and a number of targets, not {self.dtype!r} and "
                f"{self.predict!r}."
            )
        return Form(self.shape, wanted.of(wanted.count), dtype, self.mean, self.std)
