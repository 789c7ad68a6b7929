"""How far apart colours are: for readers on a ground, and for colour-blind eyes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]

EYES = {
    "all cones": np.eye(3),
    "no red cones": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "no green cones": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "no blue cones": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}
"""What a linear colour looks like (Machado, Oliveira, Fernandes, 2009, severity 1)."""

CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
OPPONENTS = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)
"""To Oklab (Ottosson, 2020), where distances are about what eyes see."""


def linear(colour: str) -> Values:
    """Red, green and blue of #RRGGBB as amounts of light."""
    parts = np.array([int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    """As WCAG 2 defines it, from 1 to 21."""
    weights = np.array([0.2126, 0.7152, 0.0722])
    low, high = sorted(float(linear(colour) @ weights) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


def apart(one: str, other: str) -> float:
    """The distance in Oklab, times 100, for the eyes that see the least of it."""
    distances = []
    for seen in EYES.values():
        places = [
            OPPONENTS @ np.cbrt(CONES @ np.clip(seen @ linear(colour), 0, 1))
            for colour in (one, other)
        ]
        distances.append(float(np.linalg.norm(places[0] - places[1])))
    return 100 * min(distances)
