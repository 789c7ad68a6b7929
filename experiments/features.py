"""Which fixed features help at a proven epsilon? A resumable study: docs/features.md.

    python experiments/features.py [NAME...]         # what is missing of these features, or of all
    python experiments/features.py --epsilons 2 4    # of these epsilons only
    python experiments/features.py --table           # what was measured

Agents that agree have the noise of a trusted server, so one place trains here, with all records of
CIFAR-10 but 5,000 of the training records, which are held out and scored. The options are those of
the recipe: a centre released with noise 20, then 100 rounds with a fifth of the records, momentum
0.9, clipping norm 0.8, a step size that goes down linearly to 0. Every number is written to
results/study/features.json as it comes: whoever stops it loses one, and the same command goes on.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from dpdl.keys import generator
from dpdl.privacy.accounting import Step, calibrate
from dpdl.tasks.data import load
from dpdl.tasks.deep_patches import DeepPatches
from dpdl.tasks.directions import LENGTH, beside, centred, of_length
from dpdl.tasks.patches import CELLS, FLAT, SIDE, THRESHOLD, Patches
from dpdl.tasks.scattering import GROUPS, Scattering, normalised

if TYPE_CHECKING:
    from dpdl.tasks.data import Dataset

HOME = Path(__file__).parents[1]
FILE = HOME / "results" / "study" / "features.json"
sys.path.append(str(HOME / "tools"))

HELD_OUT, ROUNDS, RATE, CLIP, MOMENTUM, CENTRE = 5_000, 100, 0.2, 0.8, 0.9, 20.0
DELTA = 1e-5
STEPS = {1.0: (20, 30, 40), 2.0: (30, 40, 60), 4.0: (40, 60, 90), 8.0: (60, 90, 135)}
"""Tried at every epsilon."""
PIECE = 500
SHIFTS = ((-2, -2), (-2, 2), (2, -2), (2, 2))

Found = dict[str, dict[str, dict[str, float]]]
"""Percent of the held-out records, by features, epsilon and step size."""
Views = Callable[[Tensor], Tensor]
"""What images (n, 3, 32, 32) become: one or several views of each, (n, K, d)."""


# ---------------------------------------------------------------- features
class Bank:
    """Patches of some filters, as `dpdl.tasks.patches` has them."""

    def __init__(self, filters: Tensor, offsets: Tensor) -> None:
        self.filters, self.offsets = filters.flatten(1), offsets[:, None]

    @classmethod
    def of(cls, images: list[np.ndarray]) -> Bank:
        """Filters that are made of these images as those of the package of photographs."""
        from patch_filters import PATCHES, drawn, filters

        made = filters(drawn(images, PATCHES))
        return cls(*(torch.from_numpy(part.astype(np.float32)) for part in made))

    def answers(self, x: Tensor) -> Tensor:
        """z: (n, filters, rows, columns)."""
        places = x.shape[-1] - SIDE + 1
        q = functional.unfold(x, SIDE)
        q = q - q.mean(dim=1, keepdim=True)
        q = q / (q.square().mean(dim=1, keepdim=True) + FLAT).sqrt_()
        return (self.filters @ q - self.offsets).unflatten(2, (places, places))

    def one_way(self, x: Tensor) -> Tensor:
        """What is above and below the threshold, averaged in triangles: (n, 2 filters, cells)."""
        return pooled(both_signs(self.answers(x)))

    def __call__(self, x: Tensor) -> Tensor:
        """The features of images and their mirror images together, (n, d)."""
        return (self.one_way(x) + self.one_way(x.flip(-1))).sqrt_().flatten(1)


def both_signs(z: Tensor, threshold: float = THRESHOLD) -> Tensor:
    """(n, 2 channels, rows, columns), nothing of it below 0."""
    return torch.cat([z - threshold, -z - threshold], dim=1).clamp_(min=0)


def pooled(maps: Tensor) -> Tensor:
    """Averages in 4 x 4 triangles, (n, channels, 16)."""
    size = maps.shape[-1]
    width = size / CELLS
    tops = width * (torch.arange(CELLS) + 0.5) - 0.5
    away = (torch.arange(size) - tops[:, None]).abs() / width
    weights = (1 - away).clamp(min=0)
    weights /= weights.sum(dim=1, keepdim=True)
    return maps.flatten(2) @ torch.kron(weights, weights).T


def ours(x: Tensor, transform: Patches) -> Tensor:
    """`patch-linear`."""
    return transform(x).flatten(1)


def one_view(features: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """Features as the only view."""
    return features(x)[:, None]


def with_mirror(bank: Bank, x: Tensor) -> Tensor:
    """An image and its mirror image are two views, whose gradients are averaged."""
    views = [bank.one_way(image).sqrt_().flatten(1) for image in (x, x.flip(-1))]
    return torch.stack(views, dim=1)


def shifted(features: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """Four views: an image moved by two pixels along both diagonals, extended by reflection."""
    wide = functional.pad(x, (2, 2, 2, 2), mode="reflect")
    views = [wide[..., 2 + a : 34 + a, 2 + b : 34 + b] for a, b in SHIFTS]
    return torch.stack([features(view) for view in views], dim=1)


def together(
    features: Callable[[Tensor], Tensor], others: Callable[[Tensor], Tensor], x: Tensor
) -> Tensor:
    """Two kinds of features, the second half as long as the first."""
    return beside(features(x), others(x))


def scattered(transform: Scattering, scale: tuple[Tensor, Tensor], x: Tensor) -> Tensor:
    """Wavelet scattering as `scatter-linear` has it."""
    mean, std = scale
    return normalised(transform((x / 255 - mean) / std), GROUPS).flatten(1)


def dead_leaves(random: np.random.Generator, size: int = 640) -> np.ndarray:
    """A made-up image: discs of all sizes and colours, one above the other, a little noisy."""
    image = np.zeros((size, size, 3))
    rows, columns = np.mgrid[:size, :size]
    for _ in range(6_000):
        radius = 4 / math.sqrt(random.uniform((4 / 160) ** 2, 1))
        top, left = random.uniform(0, size, 2)
        low, high = (max(0, math.floor(v - radius)) for v in (top, left))
        box = (
            slice(low, math.ceil(top + radius) + 1),
            slice(high, math.ceil(left + radius) + 1),
        )
        inside = (rows[box] - top) ** 2 + (columns[box] - left) ** 2 <= radius**2
        grey = random.uniform(0, 255)
        image[box][inside] = grey + random.normal(0, 30, 3)
    noisy = image + random.normal(0, 4, image.shape)
    return noisy.clip(0, 255).astype(np.uint8)


def kinds(data: Dataset) -> dict[str, Callable[[], Views]]:
    """All features of the study, made when they are asked for."""
    from patch_filters import photographs

    transform = Patches((3, 32, 32))
    plain = partial(ours, transform=transform)
    scale = tuple(
        torch.tensor(numbers)[:, None, None] for numbers in (data.mean, data.std)
    )
    wavelets = partial(scattered, Scattering((3, 32, 32)), scale)

    def made_up() -> list[np.ndarray]:
        random = generator(0, "dead leaves")
        return [dead_leaves(random) for _ in range(4)]

    def alone(features: Callable[[Tensor], Tensor]) -> Views:
        return partial(one_view, features)

    return {
        "patch-linear": lambda: alone(plain),
        "scattering beside": lambda: alone(partial(together, plain, wavelets)),
        "filters of made-up images": lambda: alone(Bank.of(made_up())),
        "image and mirror image as two views": lambda: partial(
            with_mirror, Bank.of(photographs())
        ),
        "a second layer beside": lambda: alone(DeepPatches((3, 32, 32))),
        "four shifts as four views": lambda: partial(shifted, plain),
    }


# ---------------------------------------------------------------- training
class Records:
    """Views of all records around a centre, in half precision, and what clipping needs."""

    def __init__(self, views: Views, images: Tensor, trained: Tensor) -> None:
        pieces = [self._half(views, images[some]) for some in self._pieces(len(images))]
        self.x = torch.cat(pieces)
        noise = generator(0, "centre").normal(0, CENTRE, self.x.shape[2])
        total = sum(
            of_length(self.x[some].float().mean(dim=1), 1.0).double().sum(dim=0)
            for some in trained.split(PIECE)
        )
        self.centre = ((total + torch.from_numpy(noise)) / len(trained)).float()
        self.inner = torch.empty(len(self.x), *[self.x.shape[1]] * 2)
        for some in self._pieces(len(self.x)):
            flat = centred(self.x[some].float().flatten(0, 1), self.centre)
            self.x[some] = flat.view(self.x[some].shape).half()
            rows = self.x[some].float()
            self.inner[some] = rows @ rows.mT + 1  # the bias is one more feature

    @staticmethod
    def _half(views: Views, images: Tensor) -> Tensor:
        parts = [views(some.float()) for some in images.split(4)]
        return (
            of_length(torch.cat(parts).flatten(0, 1), LENGTH)
            .half()
            .view(len(images), *parts[0].shape[1:])
        )

    @staticmethod
    def _pieces(count: int) -> Iterator[slice]:
        cuts = [*range(0, count, PIECE), count]
        return (slice(a, b) for a, b in pairwise(cuts))

    def scores(self, some: Tensor, weights: Tensor) -> Tensor:
        """Logits of all views, (n, K, classes)."""
        return self.x[some].float() @ weights[:-1] + weights[-1]


def trained(
    records: Records, y: Tensor, train: Tensor, epsilon: float, step: float
) -> Tensor:
    """The weights after all rounds, the bias last."""
    size = round(RATE * len(train))
    beside_rounds = ((Step(CENTRE, len(train), len(train)), 1),)
    one = Step(1.0, size, len(train))
    sigma = calibrate(epsilon, DELTA, one, ROUNDS, beside=beside_rounds)
    classes = int(y.max()) + 1
    weights = torch.zeros(records.x.shape[2] + 1, classes)
    momentum = torch.zeros_like(weights)
    for t in range(ROUNDS):
        random = generator(0, "round", t)
        batch = train[torch.from_numpy(random.random(len(train)) < size / len(train))]
        noise = random.standard_normal(weights.shape, dtype=np.float32)
        total = torch.from_numpy(noise) * (sigma * CLIP)
        for some in batch.split(PIECE):
            total += clipped(records, some, y, weights)
        momentum = MOMENTUM * momentum + total / size
        weights -= step * (1 - t / ROUNDS) * momentum
    return weights


def clipped(records: Records, some: Tensor, y: Tensor, weights: Tensor) -> Tensor:
    """The sum of the records' gradients, each the mean over views, clipped."""
    x = records.x[some].float()
    views = x.shape[1]
    errors = (x @ weights[:-1] + weights[-1]).softmax(dim=2)
    errors[torch.arange(len(some)), :, y[some]] -= 1
    errors /= views
    square = ((errors @ errors.mT) * records.inner[some]).sum(dim=(1, 2))
    errors *= (CLIP / square.clamp(min=1e-20).sqrt()).clamp(max=1)[:, None, None]
    flat = errors.flatten(0, 1)
    return torch.cat([x.flatten(0, 1).T @ flat, flat.sum(dim=0, keepdim=True)])


def accuracy(records: Records, y: Tensor, some: Tensor, weights: Tensor) -> float:
    """Percent of the records whose class has the highest mean score of all views."""
    right = sum(
        int((records.scores(part, weights).mean(dim=1).argmax(dim=1) == y[part]).sum())
        for part in some.split(PIECE)
    )
    return 100 * right / len(some)


# ---------------------------------------------------------------- the study
def measure(
    name: str,
    views: Callable[[], Views],
    epsilons: list[float],
    data: Dataset,
    found: Found,
) -> None:
    """Whatever is missing of these features."""
    lines = found.setdefault(name, {})
    missing = [
        (epsilon, step)
        for epsilon in epsilons
        for step in STEPS[epsilon]
        if str(step) not in lines.get(f"{epsilon:g}", {})
    ]
    if not missing:
        return
    order = torch.from_numpy(generator(0, "held out").permutation(len(data.x)))
    held, train = order[:HELD_OUT], order[HELD_OUT:]
    records = Records(views(), data.x, train)
    y = data.y.long()
    for epsilon, step in missing:
        weights = trained(records, y, train, epsilon, step)
        score = round(accuracy(records, y, held, weights), 2)
        lines.setdefault(f"{epsilon:g}", {})[str(step)] = score
        print(f"{name}, epsilon {epsilon:g}, step {step}: {score:.2f}", flush=True)
        part = FILE.with_suffix(".part")
        part.write_text(json.dumps(found, indent=1) + "\n")
        part.replace(FILE)


def table(found: Found) -> str:
    """Markdown: the best step size of each."""
    head = [f"epsilon {epsilon:g}" for epsilon in STEPS]
    rows = [["features", *head], ["---"] * (len(head) + 1)]
    for name, lines in found.items():
        tried = [lines.get(f"{epsilon:g}") for epsilon in STEPS]
        best = [f"{max(one.values()):.2f}" if one else "not tried" for one in tried]
        rows.append([name, *best])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def main() -> None:
    """Do what the command line says, on one core."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--table", action="store_true")
    parser.add_argument(
        "--epsilons", nargs="+", type=float, choices=STEPS, default=list(STEPS)
    )
    chosen = parser.parse_args()
    found: Found = json.loads(FILE.read_text()) if FILE.exists() else {}
    if chosen.table:
        print(table(found))
        return
    os.environ.setdefault("DPDL_CORES", "1")
    torch.set_num_threads(1)
    data = load("cifar10")
    known = kinds(data)
    if unknown := sorted({*chosen.names} - known.keys()):
        parser.error(f"no features are called {unknown}; there are {list(known)}")
    for name in chosen.names or known:
        measure(name, known[name], chosen.epsilons, data, found)


if __name__ == "__main__":
    main()
