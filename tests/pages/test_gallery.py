"""A gallery shows every image where it belongs, as it is, with text that can be read."""

from __future__ import annotations

import subprocess
import sys
from itertools import combinations

import numpy as np
import pytest
import torch
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from PIL import Image

from dpdl.errors import InputError
from dpdl.pages.figures import DPI
from dpdl.pages.gallery import draw_gallery, gallery_figure

WORDS = "MSE 0.12 PSNR 11.3 SSIM -0.02"


def image(channels: int = 1, size: int = 8, seed: int = 0) -> torch.Tensor:
    return torch.rand(
        channels, size, size, generator=torch.Generator().manual_seed(seed)
    )


def world(down: int, across: int, channels: int = 1, caption: str = WORDS):
    """Columns, rows, captions and title of a gallery of that size; the first row is the truth."""
    names = [
        "ground truth",
        "ND-CG",
        "ND-MM",
        "DPDL-CG",
        "DPDL-MM",
        "black",
        "mean image",
        "random",
    ][:down]
    rows = {
        name: [image(channels, seed=across * r + k) for k in range(across)]
        for r, name in enumerate(names)
    }
    return (
        [f"round {200 * k}" for k in range(across)],
        rows,
        {name: [caption] * across for name in names[1:]},
        "attack",
    )


def words(figure) -> list[str]:
    return [" ".join(text.get_text().split()) for text in figure.texts]


def boxes(figure) -> tuple[list, list]:
    """The extents of texts and of images, in the pixels of a file."""
    figure.set_dpi(DPI)
    drawn = FigureCanvasAgg(figure)
    drawn.draw()
    texts = [text.get_window_extent(drawn.get_renderer()) for text in figure.texts]
    return texts, [axes.get_window_extent() for axes in figure.axes]


def test_every_image_is_in_its_row_and_column() -> None:
    columns, rows, captions, title = world(3, 2)
    figure = gallery_figure(columns, rows, captions, title)
    _, cells = boxes(figure)
    cells = [(round(cell.x0), -round(cell.y0)) for cell in cells]
    shown = [axes.images[0].get_array() for axes in figure.axes]
    order = sorted(
        range(6), key=lambda k: cells[k][::-1]
    )  # top to bottom, then left to right
    assert len({x for x, _ in cells}) == 2
    assert len({y for _, y in cells}) == 3
    for k, truth in zip(order, (x for row in rows.values() for x in row), strict=True):
        assert np.allclose(shown[k], truth[0])
    place = {text.get_text(): text.get_position() for text in figure.texts}
    assert place["ground truth"][1] > place["ND-CG"][1] > place["ND-MM"][1]
    assert place["round 0"][0] < place["round 200"][0]


def test_pixels_are_shown_as_they_are() -> None:
    grey = torch.tensor([[[0.25, 0.5], [0.5, 0.25]]])
    colour = torch.tensor(
        [[[0.8, 0.8], [0.8, 0.8]], [[0.4, 0.4], [0.4, 0.4]], [[0.2, 0.2], [0.2, 0.2]]]
    )
    figure = gallery_figure(["a", "b"], {"x": [grey, colour]}, {}, "t")
    _, (left, right) = boxes(figure)
    pixels = np.asarray(figure.canvas.buffer_rgba())[:, :, :3]
    height = len(pixels)

    def at(box, across: float, down: float) -> list[float]:
        x, y = box.x0 + across * box.width, height - box.y1 + down * box.height
        return (pixels[int(y), int(x)] / 255).tolist()

    assert at(left, 0.25, 0.25) == pytest.approx(
        [0.25] * 3, abs=0.01
    )  # no stretching of the contrast
    assert at(left, 0.75, 0.25) == pytest.approx([0.5] * 3, abs=0.01)
    assert at(left, 0.45, 0.45) == pytest.approx([0.25] * 3, abs=0.01)  # no smoothing
    assert at(right, 0.5, 0.5) == pytest.approx([0.8, 0.4, 0.2], abs=0.01)


@pytest.mark.parametrize(
    ("down", "across"), [(1, 1), (5, 3), (2, 6), (8, 1), (8, 10), (5, 8)]
)
def test_no_text_touches_another_or_an_image_or_the_edge(down, across) -> None:
    figure = gallery_figure(*world(down, across))
    texts, cells = boxes(figure)
    assert len(cells) == down * across
    width, height = figure.bbox.width, figure.bbox.height
    for box in texts + cells:
        assert min(box.x0, box.y0) > 0
        assert box.x1 < width
        assert box.y1 < height
    for a, b in combinations(texts + cells, 2):
        assert not a.overlaps(b)


@pytest.mark.parametrize(("down", "across"), [(1, 1), (5, 3), (8, 10)])
def test_text_is_large_enough_and_space_is_used(down, across, tmp_path) -> None:
    figure = gallery_figure(*world(down, across))
    assert min(text.get_fontsize() for text in figure.texts) >= 8
    _, cells = boxes(figure)
    used = sum(cell.width * cell.height for cell in cells) / (
        figure.bbox.width * figure.bbox.height
    )
    assert used > 0.35
    with Image.open(draw_gallery(*world(down, across), tmp_path / "x.png")) as picture:
        assert 400 <= min(picture.size) <= max(picture.size) <= 2400


def test_captions_belong_to_their_image_and_a_value_stays_with_its_name() -> None:
    for across in (2, 10):
        columns, rows, _, title = world(2, across)
        captions = {
            "ND-CG": [f"MSE 0.{k:02d} PSNR inf SSIM -0.5" for k in range(across)]
        }
        figure = gallery_figure(columns, rows, captions, title)
        found = [text for text in figure.texts if text.get_text().startswith("MSE")]
        assert [" ".join(text.get_text().split()) for text in found] == captions[
            "ND-CG"
        ]
        lines = [line for text in found for line in text.get_text().splitlines()]
        assert all(
            line.startswith(("MSE 0.", "PSNR inf", "SSIM -0.5")) for line in lines
        )
        centres = sorted({round(cell.x0 + cell.width / 2) for cell in boxes(figure)[1]})
        assert [
            round(text.get_position()[0] * figure.bbox.width) for text in found
        ] == pytest.approx(centres, abs=1)


def test_long_words_widen_the_figure_instead_of_running_into_each_other() -> None:
    columns, rows, _, _ = world(2, 3)
    captions = {"ND-CG": ["W" * 40, "W" * 30, "W" * 40]}
    for figure in (
        gallery_figure(["heading" * 6, *columns[1:]], rows, captions, "title" * 60),
        gallery_figure(["W" * 40] * 3, rows, {}, "a title"),
    ):
        texts, cells = boxes(figure)
        assert not any(a.overlaps(b) for a, b in combinations(texts + cells, 2))
        assert all(box.x0 > 0 and box.x1 < figure.bbox.width for box in texts)


def test_a_cell_may_be_empty() -> None:
    figure = gallery_figure(
        ["a", "b"], {"x": [None, image()], "y": [None, None]}, {"y": ["", "lost"]}, "t"
    )
    assert len(figure.axes) == 1
    assert words(figure).count("–") == 3
    assert "lost" in words(figure)
    assert len(gallery_figure(["a"], {"x": [None]}, {}, "t").axes) == 0


@pytest.mark.parametrize(("tall", "wide"), [(10, 20), (20, 10)])
def test_images_keep_their_proportions_and_leave_no_holes(tall, wide) -> None:
    x = torch.rand(3, tall, wide)
    _, cells = boxes(gallery_figure(["a", "b"], {"x": [x, x], "y": [x, x]}, {}, "t"))
    assert [cell.width / cell.height for cell in cells] == pytest.approx(
        [wide / tall] * 4, abs=0.02
    )
    across, down = cells[1].x0 - cells[0].x1, cells[0].y0 - cells[2].y1
    assert across == pytest.approx(down, abs=1)


def test_the_frame_of_a_white_image_can_be_seen() -> None:
    figure = gallery_figure(["a"], {"x": [torch.ones(1, 4, 4)]}, {}, "t")
    for spine in figure.axes[0].spines.values():
        assert max(to_rgb(spine.get_edgecolor())) < 0.6


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_a_gallery_is_written_and_names_are_never_formulas(tmp_path, suffix) -> None:
    rows = {"cost $5_ $": [image(3), image()], "b": [image(), None]}
    path = draw_gallery(
        ["$x^$", "k"], rows, {"b": ["$_$", "y"]}, "a $^_$ b", tmp_path / f"x.{suffix}"
    )
    assert path.stat().st_size > 1000
    assert words(gallery_figure(["$x^$", "k"], rows, {}, "a $^_$ b"))[:2] == [
        "a $^_$ b",
        "$x^$",
    ]


@pytest.mark.parametrize(
    ("columns", "rows", "captions", "says"),
    [
        ([], {"x": []}, {}, "at least one"),
        (["a"], {}, {}, "at least one"),
        (["a"], {"x": [image(), image()]}, {}, "2 images for 1 columns"),
        (["a"], {"x": [image()]}, {"x": []}, "0 captions for 1 columns"),
        (["a"], {"x": [image()]}, {"z": ["c"]}, "no row"),
        (["a"], {"x": [image() - 0.5]}, {}, r"in \[0, 1\]"),
        (["a"], {"x": [image() + 0.5]}, {}, r"in \[0, 1\]"),
        (["a"], {"x": [image() * torch.nan]}, {}, r"in \[0, 1\]"),
        (["a"], {"x": [image(2)]}, {}, r"\(2, 8, 8\)"),
        (["a"], {"x": [image()[0]]}, {}, r"\(8, 8\)"),
    ],
)
def test_what_is_no_gallery_is_refused(columns, rows, captions, says) -> None:
    with pytest.raises(InputError, match=says):
        gallery_figure(columns, rows, captions, "t")


def test_drawing_does_not_load_pyplot(tmp_path) -> None:
    code = (
        "import sys, torch; from dpdl.pages.gallery import draw_gallery;"
        f"draw_gallery(['a'], {{'x': [torch.zeros(1, 4, 4)]}}, {{}}, 't', {str(tmp_path / 'x.png')!r});"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
