"""Files that a wheel carries along; in a checkout they are beside `src`.

`results` has what `dpdl reproduce` measured, `experiments` the files that can be run by name.
"""

from __future__ import annotations

from pathlib import Path

from dpdl.errors import unknown

PACKAGE = Path(__file__).parent
PLACES = (PACKAGE / "carried_files", PACKAGE.parents[1])
"""In a wheel, and in a checkout."""


def carried(folder: str, places: tuple[Path, ...] = PLACES) -> Path | None:
    """A folder that came with the package; None where it did not."""
    found = (place / folder for place in places)
    return next((path for path in found if path.is_dir()), None)


def experiment_file(given: Path, places: tuple[Path, ...] = PLACES) -> Path:
    """The file as it was given, or the carried experiment of that name: `quickstart`."""
    home = carried("experiments", places)
    is_name = given.name == str(given) and not given.suffix
    if given.exists() or home is None or not is_name:
        return given
    names = sorted(file.stem for file in home.glob("*.toml"))
    if given.name not in names:
        raise unknown("experiment", given.name, names, also="or a FILE.toml")
    return home / f"{given.name}.toml"
