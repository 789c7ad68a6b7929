"""Public mirrors: files below a base URL, downloaded over HTTP."""

from __future__ import annotations

import gzip
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from dpdl.tasks.data.sources import (
    LARGEST_FILE,
    SourceError,
    Unpack,
    unpack_checked,
)

if TYPE_CHECKING:
    from dpdl.tasks.data.progress import DownloadBar, FetchProgress

CONNECT_SECONDS = 10
ANSWER_SECONDS = 15
STALL_SECONDS = 30


@dataclass(frozen=True)
class Mirror:
    """Files below one base URL; each is downloaded and handed to `unpack(download, folder)`."""

    base: str
    files: tuple[str, ...]
    unpack: Unpack
    answer_seconds: float = ANSWER_SECONDS  # how long to wait for an answer

    @property
    def label(self) -> str:
        """The base URL."""
        return self.base

    def collect(self, folder: Path, scratch: Path, progress: FetchProgress) -> None:
        """Download file after file; give up after 15 s without an answer or 30 s without a byte."""
        for name in self.files:
            url = f"{self.base.rstrip('/')}/{name}"
            _download(url, scratch / name, progress.bar(name), self.answer_seconds)
            unpack_checked(self.unpack, scratch / name, folder)
            (scratch / name).unlink()


def gunzip(download: Path, folder: Path, largest: int = LARGEST_FILE) -> None:
    """Write `NAME` from a downloaded `NAME.gz`; more than `largest` bytes are refused."""
    with gzip.open(download) as file:
        content = file.read(largest + 1)
    if len(content) > largest:
        raise ValueError(f"{download.name} unpacks to more than {largest} bytes")
    (folder / download.name.removesuffix(".gz")).write_bytes(content)


class _WatchedDownload:
    """Stands between pooch and the bar: notices the answer, and ends an abandoned download."""

    def __init__(self, bar: DownloadBar | Literal[False]) -> None:
        self._bar = bar
        self._total = 0
        self.answered = threading.Event()
        self.abandoned = False
        self.error: Exception | None = None

    @property
    def total(self) -> int:
        """The size in bytes, which pooch sets when the server has answered."""
        return self._total

    @total.setter
    def total(self, size: int) -> None:
        self._total = size
        self.answered.set()
        if self._bar:
            self._bar.total = size

    def update(self, size: int) -> None:
        if self.abandoned:
            raise ConnectionAbortedError
        if self._bar:
            self._bar.update(size)

    def reset(self) -> None:
        if self._bar:
            self._bar.reset()

    def close(self) -> None:
        if self._bar:
            self._bar.close()


def _download(
    url: str, target: Path, bar: DownloadBar | Literal[False], answer_seconds: float
) -> None:
    import pooch

    watch = _WatchedDownload(bar)
    fetch = pooch.HTTPDownloader(
        progressbar=watch, chunk_size=2**16, timeout=(CONNECT_SECONDS, STALL_SECONDS)
    )

    def work() -> None:
        try:
            fetch(url, str(target), None)
        except Exception as error:
            _close(error)
            watch.error = error
        watch.answered.set()

    # In a thread, because time-outs of a connection count per address, and not at all while a name
    # is looked up: on a closed network a person would wait for minutes.
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        if not watch.answered.wait(answer_seconds):
            raise SourceError(f"no answer in {answer_seconds} s")
        thread.join()
    finally:
        watch.abandoned = True
    if watch.error is not None:
        raise SourceError(_reason(watch.error)) from watch.error


def _close(error: Exception) -> None:
    """Close the connection of an answer that was refused; pooch leaves it open."""
    response = getattr(error, "response", None)
    if response is not None:
        response.close()


def _reason(error: Exception) -> str:
    import requests

    if isinstance(error, requests.HTTPError):
        return str(error).split(" for url")[0]
    if isinstance(error, requests.Timeout):
        return "no answer in time"
    if isinstance(error, requests.exceptions.ProxyError):
        return "the proxy refused"
    if isinstance(error, requests.exceptions.SSLError):
        return "the TLS certificate was not accepted"
    if isinstance(error, requests.ConnectionError):
        return "no connection"
    return f"{type(error).__name__}: {str(error)[:120]}"
