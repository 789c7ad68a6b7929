"""Where the ledger of a data set is: in a folder beside the data."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dpdl.errors import InputError, reason
from dpdl.experiment.experiment import Experiment
from dpdl.folder import names
from dpdl.folder.data_ledger_file import LedgerFile, make_durable

SECURE = "secure"


def check_randomness(e: Experiment) -> None:
    """Refuse a ledger for noise that can be subtracted: there is nothing to account for."""
    if e.randomness != SECURE:
        raise InputError(
            "A ledger is for --randomness secure: whoever knows the seed of a reproducible run "
            "can subtract its noise, so no epsilon would be true."
        )


def beside(path: Path) -> Path:
    """The folder that the ledger of a data file has."""
    return path.with_name(path.name + names.DATA_LEDGER_FOLDER)


def folder_for(path: Path) -> Path:
    """A file means the ledger beside it, the database its folder, all else a folder."""
    if path.name == names.DATA_LEDGER:
        return path.parent
    return beside(path) if path.is_file() else path


def ledger_folder(path: Path) -> Path:
    """The folder of the ledger that a path means; one without a ledger is refused."""
    folder = folder_for(path)
    if not (folder / names.DATA_LEDGER).is_file():
        raise InputError(
            f"There is no ledger at {str(folder)!r}; make one with: dpdl data ledger create "
            f"{path} --budget EPSILON:DELTA."
        )
    return folder


@contextmanager
def new_ledger_folder(path: Path) -> Iterator[Path]:
    """A folder with an empty ledger, which is in its place at the end, or was never there."""
    folder = folder_for(path)
    if (folder / names.DATA_LEDGER).exists():
        raise InputError(f"There is a ledger at {str(folder)!r} already; it stays.")
    try:
        made = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
    except OSError as failure:
        raise _refused(folder, failure) from failure
    try:
        LedgerFile.create(made / names.DATA_LEDGER)
        yield made
        _put(made, folder)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _put(made: Path, folder: Path) -> None:
    """Give a folder its name, unless something is there; durably."""
    umask = os.umask(0)
    os.umask(umask)
    try:
        made.chmod(0o777 & ~umask)
        make_durable(made / names.DATA_LEDGER)
        make_durable(made)
        made.rename(folder)
        make_durable(folder.parent)
    except OSError as failure:
        raise _refused(folder, failure) from failure


def _refused(folder: Path, failure: OSError) -> InputError:
    return InputError(f"Ledger {str(folder)!r} cannot be made: {reason(failure)}.")
