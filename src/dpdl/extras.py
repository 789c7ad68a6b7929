"""Libraries that come with an extra, `pip install 'dpdl[plots]'`, and what is done without them.

Where a command is about a picture, its absence is refused before any work; where a picture is a
by-product, it is left out, and a sentence says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import TypeVar

from dpdl.errors import InputError

T = TypeVar("T")
Extras = Mapping[str, str]
EXTRAS: Extras = {
    "matplotlib": "plots",
    "PIL": "plots",
    "aiohttp": "peer",
    "wandb": "wandb",
    "mlflow": "mlflow",
    "sqlalchemy": "mlflow",
    "alembic": "mlflow",
    "trackio": "trackio",
}
"""The extra that brings a library, by the name it is imported by."""
PACKAGES = {"PIL": "pillow", "mlflow": "mlflow-skinny"}
"""Where the package has another name."""
PLOTS = "matplotlib"
PEER = "aiohttp"


def is_installed(library: str) -> bool:
    """Whether a library can be imported; it is not imported for it.

    A folder of its name, such as `wandb` where somebody has run it, is no library.
    """
    try:
        found = find_spec(library)
    except ModuleNotFoundError:
        return False
    return found is not None and found.has_location


def remedy(library: str, extras: Extras = EXTRAS) -> str:
    """What to do where a library is missing, as a clause."""
    package = PACKAGES.get(library, library)
    return f"{package} is not installed; get it with: pip install 'dpdl[{extras[library]}]'"


def need(library: str, what: str, extras: Extras = EXTRAS) -> None:
    """Refuse `what`, which is about something that only this library makes."""
    if not is_installed(library):
        raise InputError(f"{what} cannot be made: {remedy(library, extras)}.")


def left_out(what: str, library: str = PLOTS, extras: Extras = EXTRAS) -> str:
    """The sentence for a by-product that was left out."""
    return f"{what} left out: {remedy(library, extras)}."


def missing(failure: ModuleNotFoundError, extras: Extras = EXTRAS) -> str | None:
    """The library of an extra whose import failed; None: it was no such library."""
    name = (failure.name or "").partition(".")[0]
    return name if name in extras and not is_installed(name) else None


def drawn(make: Callable[[], T], otherwise: T) -> T:
    """What `make` draws; `otherwise` where there is nothing to draw with."""
    return make() if is_installed(PLOTS) else otherwise
