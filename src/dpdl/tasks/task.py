"""A model on flat rows.

A `Task` separates any `nn.Module` into a template and a flat row of its trainable parameters. All
state is in the row: a module that carries state from one sample to the next is refused, because one
record could then change the gradient of another.
"""

from __future__ import annotations

import copy
import threading
from typing import final

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap

from dpdl.errors import InputError
from dpdl.tasks.dropout import KeyedDropout, key_dropout
from dpdl.tasks.fused import Engine, engine_for
from dpdl.tasks.losses import Loss, cross_entropy
from dpdl.tasks.scores import ACCURACY, Score
from dpdl.types import Parameters

_MIXES_SAMPLES = (nn.modules.batchnorm._BatchNorm, nn.SyncBatchNorm)
_OWN_RANDOMNESS = (nn.modules.dropout._DropoutNd, nn.RReLU)


@final
class Task:
    """What is learned: a module, its loss and score, and the order of its parameters in a row."""

    def __init__(
        self,
        module: nn.Module,
        loss: Loss = cross_entropy,
        dtype: torch.dtype = torch.float32,
        score: Score = ACCURACY,
    ) -> None:
        _refuse(module)
        self._module_as_given = module
        module = key_dropout(copy.deepcopy(module)).to(dtype)
        trainable = {
            name: p.detach() for name, p in module.named_parameters() if p.requires_grad
        }
        if not trainable:
            raise InputError(
                "The model has no trainable parameters: at least one must have requires_grad = "
                "True."
            )
        self._shapes = {name: p.shape for name, p in trainable.items()}
        self.sizes = tuple(p.numel() for p in trainable.values())
        self.initial = torch.cat([p.flatten() for p in trainable.values()])
        self._template = module
        self._loss = loss
        self.score = score
        self._modules = threading.local()
        self.fused: Engine | None = None

    def __repr__(self) -> str:
        kind = type(self._module_as_given).__name__
        dtype = str(self.initial.dtype).removeprefix("torch.")
        return f"Task({kind}, {self.size:,} parameters, {dtype})"

    @property
    def is_cross_entropy(self) -> bool:
        """Whether the loss is our own cross-entropy, which the fused path and attacks know."""
        return self._loss is cross_entropy

    @property
    def loss_name(self) -> str:
        """The module and the name of the loss."""
        loss = self._loss
        name = getattr(loss, "__qualname__", type(loss).__qualname__)
        return f"{getattr(loss, '__module__', '')}.{name}"

    @property
    def size(self) -> int:
        """D, the number of trainable parameters."""
        return len(self.initial)

    @property
    def shapes(self) -> dict[str, list[int]]:
        """Names and shapes of the trainable parameters, in row order."""
        return {name: list(shape) for name, shape in self._shapes.items()}

    def parameters(self, row: Tensor) -> Parameters:
        """The named parameter tensors of a row, as views of it."""
        pieces = row.split(self.sizes)
        return {
            name: t.view(shape)
            for (name, shape), t in zip(self._shapes.items(), pieces, strict=True)
        }

    def hasten(self, shape: tuple[int, ...]) -> None:
        """Use the compiled kernels for inputs of this shape, if they can compute this model."""
        if self.is_cross_entropy and self.initial.dtype is torch.float32:
            self.fused = engine_for(self._template, shape)

    def loss(self, parameters: Parameters, x: Tensor, y: Tensor, key: Tensor) -> Tensor:
        """The loss of one sample; `key` decides which units its dropout keeps."""
        module = self._module(training=True)
        keys = {
            f"{name}.key": key
            for name, part in module.named_modules()
            if isinstance(part, KeyedDropout)
        }
        outputs = functional_call(module, {**parameters, **keys}, (x[None],))
        return self._loss(outputs, y[None])

    def outputs(self, row: Tensor, x: Tensor) -> Tensor:
        """Outputs for a whole batch, in evaluation mode."""
        if self.fused:
            return self.fused.outputs(row, x)
        module, parameters = self._module(training=False), dict(self.parameters(row))
        with torch.no_grad():
            outputs: Tensor = functional_call(module, parameters, (x,))
        return outputs

    def module(self, row: Tensor) -> nn.Module:
        """A module of the class that was given, with the parameters of a row."""
        module = copy.deepcopy(self._module_as_given).to(row.dtype)
        values = self.parameters(row.detach().clone())
        with torch.no_grad():
            for name, parameter in module.named_parameters():
                if name in values:
                    parameter.copy_(values[name])
        return module

    def check(self, x: Tensor, y: Tensor, width: int) -> None:
        """Try model, loss and score on two samples; an error says in one sentence what is wrong.

        What the compiled kernels compute, layers that they know under cross-entropy, needs no trial
        of its gradients: it would make torch import sympy, which takes most of a second.
        """
        try:
            outputs = self.outputs(self.initial, x[:2])
        except Exception as failure:
            raise InputError(
                f"The model does not accept inputs of shape {tuple(x.shape[1:])}: "
                f"{_first_line(failure)}."
            ) from failure
        if outputs.shape != (2, width):
            raise InputError(
                f"The model must return one row of {width} outputs per sample, shape (2, {width}) "
                f"for two samples, but returned {tuple(outputs.shape)}."
            )
        if self.fused is None:
            self._check_loss(x[:2], y[:2])
        self.score.total(outputs, y[:2])

    def _check_loss(self, x: Tensor, y: Tensor) -> None:
        """Try the loss sample by sample, as the plain path does."""
        batch = (x, y, torch.zeros(len(x), dtype=torch.int64))
        try:
            parameters = self.parameters(self.initial)
            losses = vmap(self.loss, (None, 0, 0, 0))(parameters, *batch)
        except Exception as failure:
            raise InputError(_why_not_by_sample(failure)) from failure
        if losses.shape != (2,):
            raise InputError(
                "The loss must return one number for a batch, not a tensor of shape "
                f"{tuple(losses.shape[1:])}."
            )

    def _module(self, training: bool) -> nn.Module:
        """This thread's own copy: `functional_call` changes the module while it runs."""
        name = "training" if training else "evaluation"
        if not hasattr(self._modules, name):
            setattr(self._modules, name, copy.deepcopy(self._template).train(training))
        module: nn.Module = getattr(self._modules, name)
        return module


def _refuse(module: nn.Module) -> None:
    for name, part in module.named_modules():
        where = f"{type(part).__name__}{f' ({name})' if name else ''}"
        if isinstance(part, _MIXES_SAMPLES):
            raise InputError(
                f"The model contains {where}, which mixes the samples of a batch, so no sample has "
                "a gradient of its own to clip; use GroupNorm instead."
            )
        if getattr(part, "track_running_stats", False):
            raise InputError(
                f"The model's {where} keeps running statistics of private data; turn them off."
            )
        if isinstance(part, _OWN_RANDOMNESS) and type(part) not in (
            nn.Dropout,
            KeyedDropout,
        ):
            raise InputError(
                f"The model's {where} draws its own randomness; only nn.Dropout is supported."
            )


def _why_not_by_sample(failure: Exception) -> str:
    """Why single samples have no gradient, in one sentence."""
    if "more than 1 value per channel" in str(failure):
        return (
            "A norm of the model has one value in a group, which it makes zero whatever it is, so "
            "nothing before it could learn; use fewer groups, or normalise more pixels."
        )
    return (
        "The model cannot be differentiated sample by sample (no data-dependent branches, "
        f"no in-place changes of inputs): {_first_line(failure)}."
    )


def _first_line(failure: Exception) -> str:
    return str(failure).strip().split("\n")[0].rstrip(".")
