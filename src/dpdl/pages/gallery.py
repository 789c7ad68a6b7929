"""What was rebuilt from what an agent sent, beside the truth: a grid of images with their scores.

Lengths are in inches: text keeps its size whatever the number of images, and images give way.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np
import numpy.typing as npt

from dpdl.errors import InputError
from dpdl.pages.figures import INK, SOFT, save

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from torch import Tensor

SMALL, LARGE, ACROSS = 1.05, 2.0, 9.0
"""Widths: of the narrowest and the widest image, and between them of all images of a row."""
EDGE, GAP, NEAR = 0.15, 0.12, 0.04
"""Space around the figure, between images, and between an image and its text."""
LABEL, LINE = 1.4, 1.2
"""Where names of rows are broken, and the distance of lines of text in their size."""
TITLE, NAME, CAPTION = 12.0, 9.5, 8.0
"""Sizes of text, in points."""

Rows = Mapping[str, Sequence["Tensor | None"]]
Captions = Mapping[str, Sequence[str]]
Picture = npt.NDArray[np.float64]


def draw_gallery(
    columns: Sequence[str], rows: Rows, captions: Captions, title: str, path: str | Path
) -> Path:
    """Write the picture of `gallery_figure`."""
    return save(gallery_figure(columns, rows, captions, title), path)


def gallery_figure(
    columns: Sequence[str], rows: Rows, captions: Captions, title: str
) -> Figure:
    """A grid of images.

    `rows[name][k]` is in the row of that name, under `columns[k]` and above its caption.

    An image is `(C, H, W)` with 1 or 3 channels and pixels in [0, 1], which are black to white in
    every cell: no contrast is stretched. None is an empty cell. A row may have no captions, for
    instance the truth.
    """
    _check(columns, rows, captions)
    pictures = {
        name: [_picture(name, image) for image in images]
        for name, images in rows.items()
    }
    side = _side(columns, captions)
    shapes = [p.shape for row in pictures.values() for p in row if p is not None]
    tall = side * max((height / width for height, width, *_ in shapes), default=1.0)
    heads = [_wrap(head, side - GAP, NAME) for head in columns]
    labels = [_wrap(name, LABEL, NAME) for name in rows]
    below = [
        [_wrap(caption, side - GAP, CAPTION) for caption in captions.get(name, ())]
        for name in rows
    ]

    left = EDGE + max(_width(label, NAME) for label in labels) + GAP
    width = max(
        left + len(columns) * (side + GAP) - GAP + EDGE,
        2 * EDGE + _least([title], TITLE),
    )
    title = _wrap(title, width - 2 * EDGE, TITLE)
    top = EDGE + _height([title], TITLE) + GAP + _height(heads, NAME)
    tops = list(
        accumulate((tall + _height(row, CAPTION) + GAP for row in below), initial=top)
    )

    page = _page(width, tops.pop() - GAP + EDGE)
    page.write(title, width / 2, EDGE, TITLE, ha="center", va="top", weight="bold")
    for k, head in enumerate(heads):
        page.write(
            head,
            left + k * (side + GAP) + side / 2,
            top - NEAR,
            NAME,
            ha="center",
            va="bottom",
        )
    lines = zip(tops, labels, pictures.values(), below, strict=True)
    for y, label, row, texts in lines:
        page.write(label, left - GAP, y + tall / 2, NAME, ha="right", va="center")
        for k, picture in enumerate(row):
            page.show(
                picture,
                (left + k * (side + GAP), y, side, tall),
                texts[k] if texts else "",
            )
    return page.figure


def _check(columns: Sequence[str], rows: Rows, captions: Captions) -> None:
    if not columns or not rows:
        raise InputError("A gallery needs at least one row and one column.")
    for kind, group in (("images", rows), ("captions", captions)):
        for name, cells in group.items():
            if name not in rows:
                raise InputError(
                    f"There are captions for {name!r}, which is no row: "
                    f"{', '.join(rows)}."
                )
            if len(cells) != len(columns):
                raise InputError(
                    f"Row {name!r} has {len(cells)} {kind} for {len(columns)} columns."
                )


def _side(columns: Sequence[str], captions: Captions) -> float:
    """The width of an image: texts must stay apart from those of the next column."""
    texts = [text for row in captions.values() for text in row]
    least = max(_least(columns, NAME), _least(texts, CAPTION)) + GAP
    return max(float(np.clip(ACROSS / len(columns), SMALL, LARGE)), least)


def _picture(name: str, image: Tensor | None) -> Picture | None:
    """What matplotlib draws: `(H, W)` for one channel, `(H, W, 3)` for three."""
    if image is None:
        return None
    if image.ndim != 3 or image.shape[0] not in (1, 3) or image.numel() == 0:
        raise InputError(
            f"Row {name!r}: an image must be (1, H, W) or (3, H, W), not "
            f"{tuple(image.shape)}."
        )
    pixels: Picture = image.detach().cpu().double().numpy()
    if not ((pixels >= 0) & (pixels <= 1)).all():
        raise InputError(f"Row {name!r}: the pixels of an image must be in [0, 1].")
    return pixels[0] if len(pixels) == 1 else np.moveaxis(pixels, 0, -1)


@final
@dataclass(frozen=True)
class _Page:
    """A figure measured in inches from its upper left corner."""

    figure: Figure
    width: float
    height: float

    def write(
        self,
        text: str,
        x: float,
        y: float,
        size: float,
        colour: str = INK,
        **style: Any,
    ) -> None:
        place = x / self.width, 1 - y / self.height
        self.figure.text(
            *place,
            text,
            size=size,
            color=colour,
            parse_math=False,
            linespacing=LINE,
            **style,
        )

    def show(
        self,
        picture: Picture | None,
        box: tuple[float, float, float, float],
        caption: str,
    ) -> None:
        """A picture in the box `(x, y, width, height)` and its caption below.

        Without one, a dash.
        """
        x, y, wide, tall = box
        if caption:
            self.write(
                caption,
                x + wide / 2,
                y + tall + NEAR,
                CAPTION,
                SOFT,
                ha="center",
                va="top",
            )
        if picture is None:
            self.write(
                "–", x + wide / 2, y + tall / 2, NAME, SOFT, ha="center", va="center"
            )
            return
        share = (
            x / self.width,
            1 - (y + tall) / self.height,
            wide / self.width,
            tall / self.height,
        )
        axes = self.figure.add_axes(share, xticks=[], yticks=[])
        axes.imshow(picture, cmap="gray", vmin=0, vmax=1, interpolation="nearest")
        axes.spines[:].set(color=SOFT, linewidth=0.5)


def _page(width: float, height: float) -> _Page:
    from matplotlib.figure import Figure

    return _Page(Figure(figsize=(width, height), facecolor="white"), width, height)


def _height(texts: Sequence[str], size: float) -> float:
    """Room for the text with the most lines."""
    lines = max((len(text.splitlines()) for text in texts), default=0)
    return lines * LINE * size / 72 + (NEAR if lines else 0.0)


def _parts(text: str) -> list[str]:
    """What stays on one line: a value belongs to the name before it, as in "MSE 0.12"."""
    return re.split(r"\s+(?=[^\W\d])(?!inf\b)", text.strip())


def _least(texts: Sequence[str], size: float) -> float:
    """The width that the texts need even when broken wherever they may be."""
    return max(
        (_width(part, size) for text in texts for part in _parts(text)), default=0.0
    )


def _wrap(text: str, room: float, size: float) -> str:
    """The text in lines that fit into `room`, as far as its parts do."""
    first, *others = _parts(text)
    lines = [first]
    for part in others:
        longer = f"{lines[-1]} {part}"
        if _width(longer, size) <= room:
            lines[-1] = longer
        else:
            lines.append(part)
    return "\n".join(lines)


def _width(text: str, size: float) -> float:
    """The width of the widest line, and 5% since drawn letters begin on whole pixels.

    Only titles are bold.
    """
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=size, weight="bold" if size == TITLE else "normal")
    lines = text.splitlines() or [""]
    points = max(
        text_to_path.get_text_width_height_descent(line, font, ismath=False)[0]
        for line in lines
    )
    return 1.05 * points / 72
