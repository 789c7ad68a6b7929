"""The cache: files arrive whole or not at all, and are checked when they are read."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from dpdl.errors import InputError
from dpdl.tasks import data
from dpdl.tasks.data import cache, catalogue
from dpdl.tasks.data.catalogue import IDX_DOWNLOADS, IDX_FILES
from dpdl.tasks.data.progress import FetchProgress
from tests.tasks.downloads import Server, left_over, serve
from tests.tasks.mirrored import RAW, entry


def test_mirror_fills_the_cache_and_load_gives_the_arrays(
    server: Server, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(server)
    known = {"mnist": entry("http://127.0.0.1:9/none")}
    monkeypatch.setenv("DPDL_MIRROR", server.url + "/")
    loaded = data.load("mnist", catalogue=known)
    assert left_over(folder) == sorted(IDX_FILES)
    assert loaded.x.shape == (9, 1, 4, 4)
    assert loaded.x.numpy().tobytes() == RAW["train-images-idx3-ubyte"][16:]
    assert loaded.y_test.tolist() == list(RAW["t10k-labels-idx1-ubyte"][8:])
    assert server.requested == [f"/mnist/{name}" for name in IDX_DOWNLOADS]
    monkeypatch.delenv("DPDL_MIRROR")
    assert data.fetch("mnist", catalogue=known) == folder
    assert data.load("mnist", catalogue=known).fingerprint() == loaded.fingerprint()
    assert len(server.requested) == 4


def test_next_source_is_tried_and_every_failure_is_reported(
    server: Server, folder: Path
) -> None:
    serve(
        server, "/wrong", **{"t10k-labels-idx1-ubyte.gz": gzip.compress(b"other bytes")}
    )
    serve(server, "/damaged", **{"train-images-idx3-ubyte.gz": b"not gzip at all"})
    bases = [f"{server.url}/{name}" for name in ("missing", "wrong", "damaged")]
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
    serve(server, "/good")
    cache.fetch_entry(entry(*bases, f"{server.url}/good"), progress=False)
    assert left_over(folder) == sorted(IDX_FILES)


@pytest.mark.parametrize("damage", ["truncate", "flip", "empty"])
def test_damaged_cached_file_is_refused_by_load_and_repaired_by_fetch(
    server: Server, folder: Path, damage: str
) -> None:
    serve(server)
    known = {"mnist": entry(f"{server.url}/mnist")}
    data.fetch("mnist", catalogue=known)
    path = folder / "t10k-images-idx3-ubyte"
    whole = path.read_bytes()
    flipped = whole[:-1] + bytes([whole[-1] ^ 1])
    path.write_bytes({"truncate": whole[:-1], "flip": flipped, "empty": b""}[damage])
    with pytest.raises(
        InputError, match=f"{path} is damaged .* run `dpdl data fetch mnist` again"
    ):
        data.load("mnist", catalogue=known)
    data.fetch("mnist", catalogue=known)
    assert path.read_bytes() == whole


def test_missing_cached_file_is_fetched_by_load(server: Server, folder: Path) -> None:
    serve(server)
    known = {"mnist": entry(f"{server.url}/mnist")}
    data.fetch("mnist", catalogue=known)
    assert data.is_here("mnist")
    (folder / IDX_FILES[1]).unlink()
    assert not data.is_here("mnist")
    assert data.is_here("digits")
    assert data.load("mnist", catalogue=known).x.shape == (9, 1, 4, 4)


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
    server: Server, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(server)
    server.slow = threading.Event()
    started = [start(f"{server.url}/mnist") for _ in range(2)]
    deadline = time.monotonic() + 30
    while len(server.requested) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    started[0].kill()
    started[0].wait()
    assert not any((folder / name).exists() for name in IDX_FILES)
    server.slow.set()
    cache.fetch_entry(entry(f"{server.url}/mnist"), progress=False)
    assert started[1].wait(30) == 0
    stale = [name for name in left_over(folder) if name not in IDX_FILES]
    assert len(stale) == 1
    assert cache.wrong_file(entry(), folder) is None
    # A day later the next fetch removes what the killed process left.
    old = time.time() - cache.STALE_SECONDS - 10
    os.utime(folder / stale[0], (old, old))
    (folder / IDX_FILES[0]).unlink()
    cache.fetch_entry(entry(f"{server.url}/mnist"), progress=False)
    assert left_over(folder) == sorted(IDX_FILES)


def test_threads_may_fetch_together(server: Server, folder: Path) -> None:
    serve(server)
    failures: list[Exception] = []

    def work() -> None:
        try:
            cache.fetch_entry(entry(f"{server.url}/mnist"), progress=False)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert left_over(folder) == sorted(IDX_FILES)


def test_mirror_that_is_no_url_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DPDL_MIRROR", "/some/folder")
    with pytest.raises(InputError, match="DPDL_MIRROR must be a URL"):
        data.fetch("mnist")


def test_cache_folder_that_cannot_be_written_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DPDL_DATA", str(tmp_path / "file" / "below"))
    with pytest.raises(InputError, match="set DPDL_DATA"):
        data.fetch("mnist")


def test_the_cache_is_where_it_is_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DPDL_DATA", "~/data")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache.cache_dir() == tmp_path / "data"
    monkeypatch.delenv("DPDL_DATA")
    assert cache.cache_dir().name == "dpdl"


def test_a_mirror_of_ones_own_replaces_the_public_ones_but_not_the_registries(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("DPDL_MIRROR", raising=False)
    known = catalogue.MNIST
    assert cache.sources_of(known) == (*known.mirrors, *known.registries)
    monkeypatch.setenv("DPDL_MIRROR", "https://here.example/data/")
    own, *rest = cache.sources_of(known)
    assert own == replace(known.mirrors[0], base="https://here.example/data/mnist")
    assert tuple(rest) == known.registries


def write_all(folder: Path) -> None:
    folder.mkdir(parents=True)
    for name, content in RAW.items():
        (folder / name).write_bytes(content)


def test_the_first_wrong_file_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "mnist"
    assert cache.wrong_file(entry(), folder) == folder / IDX_FILES[0]
    write_all(folder)
    assert cache.wrong_file(entry(), folder) is None
    (folder / IDX_FILES[2]).write_bytes(b"other")
    (folder / IDX_FILES[3]).unlink()
    assert cache.wrong_file(entry(), folder) == folder / IDX_FILES[2]


def test_contents_are_read_when_all_files_are_there(folder: Path) -> None:
    assert cache.read_entry(entry()) is None
    write_all(folder)
    assert cache.read_entry(entry()) == RAW
    (folder / IDX_FILES[1]).unlink()
    assert cache.read_entry(entry()) is None


def test_a_file_that_cannot_be_read_is_named(folder: Path) -> None:
    (folder / IDX_FILES[0]).mkdir(parents=True)
    with pytest.raises(InputError, match=f"{IDX_FILES[0]} cannot be read"):
        cache.read_entry(entry())


def test_what_is_there_is_not_fetched_again(folder: Path) -> None:
    write_all(folder)
    assert cache.fetch_entry(entry(), progress=False) == folder


def test_a_temporary_folder_of_today_is_not_removed(folder: Path) -> None:
    (folder / ".fetch-now").mkdir(parents=True)
    (folder / ".fetch-old").mkdir()
    old = time.time() - cache.STALE_SECONDS - 10
    os.utime(folder / ".fetch-old", (old, old))
    with pytest.raises(InputError, match="could not be fetched"):
        cache.fetch_entry(entry(), progress=False)
    assert left_over(folder) == [".fetch-now"]
