"""`peer.toml`: what an operator sets, in a file that people edit.

name = "mercy"
listen = "0.0.0.0:8443"             # left out: the site accepts no connections
proxy = "http://proxy:3128"         # left out: connections go out directly
modules = ["our_models"]            # code of our own that a manifest may name

[data.lungs]
file = "/data/lungs.npz"
ledger = "/data/lungs-ledger"       # left out: beside the file
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import final

from dpdl import foreign
from dpdl.errors import InputError, reason
from dpdl.folder.files import write
from dpdl.peer.documents import record_with_defaults
from dpdl.peer.spelling import check_name
from dpdl.peer.toml_text import dumps
from dpdl.records import Record, absent
from dpdl.text import sentence, shown

LISTEN = re.compile(
    r"(?P<host>[a-zA-Z0-9.-]{1,253}|\[[0-9a-fA-F:.]+\]):(?P<port>\d{1,5})"
)
PROXY = re.compile(
    r"https?://[a-zA-Z0-9.:@%_~-]{1,300}|http://\[[0-9a-fA-F:.]+\]:\d{1,5}"
)
LARGEST = 1 << 20
"""Bytes of the file."""


@final
@dataclass(frozen=True)
class DataPlace(Record):
    """Where a data set is; `ledger` is None where the ledger is beside the file."""

    file: str
    ledger: str | None = absent()


@final
@dataclass(frozen=True)
class SiteSettings(Record):
    """All that is in the file."""

    name: str
    listen: str | None = absent()
    proxy: str | None = absent()
    modules: tuple[str, ...] = ()
    data: Mapping[str, DataPlace] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_name(self.name, "name")
        if self.listen is not None:
            _ = self.address
        if self.proxy is not None and not PROXY.fullmatch(self.proxy):
            raise InputError(
                f"proxy must be http://HOST:PORT, not {shown(self.proxy)}."
            )
        for name in self.data:
            check_name(name, "The name of a data set")

    @property
    def address(self) -> tuple[str, int] | None:
        """Where the site listens; port 0 stands for one that is free."""
        return None if self.listen is None else address_of(self.listen)


def address_of(listen: str) -> tuple[str, int]:
    """Host and port of HOST:PORT."""
    found = LISTEN.fullmatch(listen)
    if not found or int(found["port"]) > 65535:
        raise InputError(
            f"listen must be HOST:PORT, such as 0.0.0.0:8443, not {shown(listen)}."
        )
    return found["host"].strip("[]"), int(found["port"])


def read_settings(path: Path) -> SiteSettings:
    """The settings in a file; one that is missing or wrong is named."""
    try:
        table = foreign.parse_toml(foreign.read_text(path, LARGEST))
        return record_with_defaults(SiteSettings, table, "peer.toml")
    except (OSError, ValueError) as failure:
        raise InputError(
            sentence(f"File {str(path)!r} cannot be read: {reason(failure)}.")
        ) from failure


def write_settings(path: Path, settings: SiteSettings) -> None:
    """A new file."""
    write(path, dumps(settings.to_json()).encode())


def add_place(path: Path, name: str, place: DataPlace) -> None:
    """Add a data set at the end of the file; what people wrote above it stays."""
    before = foreign.read_bytes(path, LARGEST).rstrip()
    table = dumps({"data": {name: place.to_json()}}).removeprefix("[data]\n\n")
    write(path, before + b"\n\n" + table.encode())
    read_settings(path)
