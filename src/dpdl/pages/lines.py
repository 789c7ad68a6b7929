"""How the line of an algorithm looks: in every picture, on every page and in every table the same.

No two algorithms share colour and dashes, nor colour and marker. Colours that a colour-blind eye
may mistake for each other have other dashes, so that the dashes tell them apart. The base is the
palette of Okabe and Ito, darker where a colour was too pale for white.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from dpdl.records import Json


class Hue(NamedTuple):
    """One colour, as it is drawn on a white and on a dark ground."""

    light: str
    dark: str


class Shape(NamedTuple):
    """A marker: its letter in matplotlib, and an SVG path from -1 to 1."""

    letter: str
    path: str


class Look(NamedTuple):
    """How an algorithm is drawn."""

    colour: str  # on a white ground
    dark: str  # on a dark ground
    dash: tuple[float, ...]  # strokes and gaps in widths of the line; none: solid
    marker: str  # a key of `SHAPES`

    @property
    def linestyle(self) -> str | tuple[float, tuple[float, ...]]:
        """The dashes as matplotlib takes them."""
        return (0.0, self.dash) if self.dash else "-"

    @property
    def size(self) -> float:
        """Of a marker of this shape, in points: a star needs more room to be one."""
        return 7.0 if self.marker == "star" else 4.5

    @property
    def letter(self) -> str:
        """The marker as matplotlib takes it."""
        return SHAPES[self.marker].letter

    def plain(self) -> dict[str, Json]:
        """For JSON: `colour`, `dark`, `dash` and `marker`."""
        return {
            "colour": self.colour,
            "dark": self.dark,
            "dash": list(self.dash),
            "marker": self.marker,
        }


HUES = {
    "blue": Hue("#0072B2", "#3B8FF0"),
    "vermillion": Hue("#BF3A00", "#FF7034"),
    "green": Hue("#009E73", "#3CCB9C"),
    "purple": Hue("#C2589A", "#E592CF"),
    "ochre": Hue("#B98900", "#F0D040"),
    "sky": Hue("#4A97F0", "#A9D8FF"),
    "ink": Hue("#222222", "#F2F2F2"),
}
DASHES: Mapping[str, tuple[float, ...]] = {
    "solid": (),
    "dashed": (5, 2),
    "dashdot": (6, 2, 1, 2),
    "dotted": (1, 1.5),
    "long": (10, 3),
    "short": (2.5, 1.5),
    "dashdotdot": (6, 1.5, 1, 1.5, 1, 1.5),
}
SHAPES = {
    "circle": Shape("o", "M-1 0A1 1 0 1 1 1 0A1 1 0 1 1 -1 0Z"),
    "square": Shape("s", "M-.9 -.9H.9V.9H-.9Z"),
    "diamond": Shape("D", "M0 -1.2L1.2 0L0 1.2L-1.2 0Z"),
    "up": Shape("^", "M0 -1.1L1.1 .9H-1.1Z"),
    "down": Shape("v", "M0 1.1L1.1 -.9H-1.1Z"),
    "star": Shape(
        "*",
        "M0 -1.2L.3 -.4H1.1L.45 .1L.7 1L0 .45L-.7 1L-.45 .1L-1.1 -.4H-.3Z",
    ),
    "plus": Shape("P", "M-.35 -1.1H.35V-.35H1.1V.35H.35V1.1H-.35V.35H-1.1V-.35H-.35Z"),
    "cross": Shape(
        "X",
        "M-.7 -1.1L0 -.4L.7 -1.1L1.1 -.7L.4 0L1.1 .7L.7 1.1L0 .4L-.7 1.1L-1.1 .7"
        "L-.4 0L-1.1 -.7Z",
    ),
}

_CHOSEN = {
    # The paper's five and what is compared with them most: all colours and all dashes differ.
    "dpdl": ("blue", "solid", "circle"),
    "dp-cga": ("vermillion", "dashed", "square"),
    "dp-dpsgd": ("green", "dashdot", "diamond"),
    "dp-netfleet": ("purple", "dotted", "up"),
    "muffliato": ("ochre", "long", "down"),
    "dpdl-sound": ("sky", "dashdotdot", "star"),
    "decor": ("ink", "short", "plus"),
    "concord": ("vermillion", "long", "diamond"),
    "corn-dsgd": ("ochre", "short", "plus"),
    # Without noise: the colour of the same algorithm with noise.
    "cga": ("vermillion", "dotted", "cross"),
    "d-psgd": ("green", "solid", "square"),
    "net-fleet": ("purple", "dashdotdot", "down"),
    "dmsgd": ("ink", "dotted", "circle"),
    "dp-dmsgd": ("ink", "solid", "cross"),
    # The others.
    "async-dpsgd": ("green", "short", "plus"),
    "dfedsam": ("ochre", "dashed", "star"),
    "gradient-tracking": ("sky", "dashed", "diamond"),
    "momentum-tracking": ("sky", "dotted", "up"),
    "gut": ("blue", "long", "square"),
    "ngm": ("blue", "dashdot", "cross"),
    "pdsl": ("vermillion", "solid", "circle"),
    "qg-momentum": ("ink", "long", "diamond"),
    "exact-diffusion": ("blue", "dashed", "diamond"),
    "epidemic": ("vermillion", "dashdot", "up"),
    "porter": ("ink", "dashdotdot", "square"),
    "dp-admm": ("green", "long", "up"),
}


def _look(hue: str, dash: str, marker: str) -> Look:
    return Look(HUES[hue].light, HUES[hue].dark, DASHES[dash], marker)


LOOKS: Mapping[str, Look] = {name: _look(*words) for name, words in _CHOSEN.items()}
"""Of the algorithms that come with dpdl."""


AVERAGE = Look("#6B7280", "#A9B2BD", (2, 1.5), "down")
"""The line of the average of all models, which belongs to no algorithm."""


def _free() -> tuple[Look, ...]:
    """Looks that no algorithm of dpdl has."""
    taken = {words[:2] for words in _CHOSEN.values()}
    pairs = [(hue, dash) for dash in DASHES for hue in HUES]
    free = [pair for pair in pairs if pair not in taken]
    markers = list(SHAPES)
    return tuple(_look(*pair, markers[k % len(markers)]) for k, pair in enumerate(free))


FREE = _free()
"""For all other names."""


def looks(names: Iterable[str]) -> dict[str, Look]:
    """The looks of all lines of a picture, by name and in the order of the names.

    A name that dpdl does not know has one of `FREE`, chosen by the name alone; two of one picture
    that would look alike move apart. When none is left, looks are used again.
    """
    wanted = list(dict.fromkeys(names))
    found: dict[str, Look] = {}
    for name in sorted(set(wanted) - set(LOOKS)):
        first = zlib.crc32(name.encode("utf-8"))
        places = [FREE[(first + k) % len(FREE)] for k in range(len(FREE))]
        taken = set(found.values())
        found[name] = next((look for look in places if look not in taken), places[0])
    return {name: LOOKS.get(name) or found[name] for name in wanted}


def look_of(name: str) -> Look:
    """The look of an algorithm that is drawn alone."""
    return looks([name])[name]


def as_json(names: Iterable[str]) -> dict[str, dict[str, Json]]:
    """The looks for a script on a page: name -> colour, dark, dash, marker."""
    return {name: look.plain() for name, look in looks(names).items()}
