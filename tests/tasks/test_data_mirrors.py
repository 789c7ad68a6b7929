"""Mirrors: what a download may do wrong, and the reason that is given."""

from __future__ import annotations

import gzip
import socket
import time
from functools import partial
from pathlib import Path

import pytest
import requests

from dpdl.errors import InputError
from dpdl.tasks.data import cache
from dpdl.tasks.data.catalogue import IDX_FILES
from dpdl.tasks.data.mirrors import Mirror, gunzip
from dpdl.tasks.data.progress import SilentProgress
from dpdl.tasks.data.sources import SourceError
from tests.tasks.downloads import Server, left_over, serve
from tests.tasks.mirrored import RAW, entry, mirror


def test_server_that_never_answers_is_given_up_and_its_late_answer_ignored(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        start = time.monotonic()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(InputError, match=r"no answer in 0\.2 s"):
            cache.fetch_entry(entry(mirror(url, answer_seconds=0.2)), progress=False)
        assert time.monotonic() - start < 5
    assert left_over(folder) == []


def test_download_cut_short_leaves_no_file(server: Server, folder: Path) -> None:
    serve(server)
    server.short = True
    with pytest.raises(InputError, match="could not be fetched"):
        cache.fetch_entry(entry(f"{server.url}/mnist"), progress=False)
    assert left_over(folder) == []


def test_file_that_unpacks_to_far_too_much_is_refused(
    server: Server, folder: Path
) -> None:
    serve(server)
    strict = mirror(f"{server.url}/mnist", partial(gunzip, largest=50))
    with pytest.raises(InputError, match="unpacks to more than 50 bytes"):
        cache.fetch_entry(entry(strict), progress=False)


def test_files_are_unpacked_one_by_one_and_downloads_removed(
    server: Server, tmp_path: Path
) -> None:
    serve(server)
    folder, scratch = tmp_path / "folder", tmp_path / "scratch"
    folder.mkdir()
    scratch.mkdir()
    source = mirror(f"{server.url}/mnist/")
    source.collect(folder, scratch, SilentProgress())
    assert source.label == f"{server.url}/mnist/"
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == RAW
    assert left_over(scratch) == []
    assert server.requested[0] == f"/mnist/{IDX_FILES[0]}.gz"


def test_a_refused_download_is_the_fault_of_the_source(
    server: Server, tmp_path: Path
) -> None:
    source = Mirror(server.url, ("none.gz",), gunzip)
    with pytest.raises(SourceError, match=r"^404 Client Error: Not Found$"):
        source.collect(tmp_path, tmp_path, SilentProgress())


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (requests.ReadTimeout("slow"), "no answer in time"),
        (requests.exceptions.ProxyError("407"), "the proxy refused"),
        (requests.exceptions.SSLError("bad"), "the TLS certificate was not accepted"),
        (requests.ConnectionError("refused"), "no connection"),
        (requests.HTTPError("500 Error for url: http://x"), "500 Error"),
        (RuntimeError("x" * 200), "RuntimeError: " + "x" * 120),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_failure_has_a_short_reason(
    error: Exception, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(url: str, **options: object) -> None:
        raise error

    monkeypatch.setattr(requests, "get", fail)
    with pytest.raises(SourceError) as caught:
        mirror("http://nowhere.example").collect(tmp_path, tmp_path, SilentProgress())
    assert str(caught.value) == reason


def test_gunzip_takes_as_many_bytes_as_are_allowed(tmp_path: Path) -> None:
    download = tmp_path / "some.gz"
    download.write_bytes(gzip.compress(b"12345"))
    gunzip(download, tmp_path, largest=5)
    assert (tmp_path / "some").read_bytes() == b"12345"
    with pytest.raises(ValueError, match=r"some\.gz unpacks to more than 4 bytes"):
        gunzip(download, tmp_path, largest=4)
