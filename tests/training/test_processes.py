"""Real processes that talk over gloo: what they may tell each other, and what they do when they differ."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from dpdl.folder.checkpoint import Checkpoint
from dpdl.folder.run_folder import RunFolder
from dpdl.folder.verify import verify
from tests.commands import dpdl
from tests.sites import write_sites, write_test

HOME = Path(__file__).parents[2]
SECURE = [
    "run",
    "--dataset",
    "digits",
    "--agents",
    "4",
    "--sigma",
    "2",
    "--randomness",
    "secure",
    "--placement",
    "gloo",
]


class Pair:
    """Starts two processes that find each other, each with words and a folder of its own."""

    def __init__(self) -> None:
        self._started: list[subprocess.Popen[str]] = []

    def start(
        self, first: list[str], second: list[str], folders: list[Path]
    ) -> list[subprocess.Popen[str]]:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        meeting = {
            "WORLD_SIZE": "2",
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(port),
            "OMP_NUM_THREADS": "1",
        }
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        both = [
            subprocess.Popen(
                [sys.executable, "-m", "dpdl", *words],
                cwd=folder,
                env={**os.environ, **meeting, "RANK": rank},
                **pipes,
            )
            for rank, words, folder in zip("01", (first, second), folders, strict=True)
        ]
        self._started += both
        return both

    def run(
        self, first: list[str], second: list[str], folders: list[Path]
    ) -> list[tuple[int, str, str]]:
        both = self.start(first, second, folders)
        ended = [process.communicate(timeout=120) for process in both]
        return [
            (process.returncode, *words)
            for process, words in zip(both, ended, strict=True)
        ]

    def end(self) -> None:
        for process in self._started:
            process.kill()
            process.communicate()


@pytest.fixture
def pair() -> Iterator[Pair]:
    made = Pair()
    yield made
    made.end()


def test_a_listener_on_gloo_hears_nothing_but_releases_models_and_public_words(
    tmp_path: Path,
) -> None:
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    words = [
        sys.executable,
        *torchrun,
        "-m",
        "tests.training.on_links",
        str(tmp_path / "run"),
    ]
    done = subprocess.run(
        words, cwd=HOME, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("strangers: [], loss: None") == 2
    assert (tmp_path / "run" / "state-1.safetensors").exists()
    assert not (tmp_path / "run" / "state.safetensors").exists()


def test_processes_with_different_noise_refuse_and_write_nothing(
    pair: Pair, tmp_path: Path
) -> None:
    quiet = [*SECURE, "--rounds", "2", "--quiet", "--out", "r"]
    (code, out, err), (other, _, _) = pair.run(
        quiet, [*quiet, "--sigma", "0.01"], [tmp_path, tmp_path]
    )
    assert (code, other, out) == (2, 2, "")
    assert err.strip() == (
        "error: Process 1 of this run has another sigma than process 0; start all processes with the same options, "
        "data and versions."
    )
    assert list(tmp_path.iterdir()) == []


def test_processes_with_disks_of_their_own_stop_go_on_and_keep_their_state(
    pair: Pair, tmp_path: Path
) -> None:
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        folder.mkdir()
    words = [
        *SECURE,
        "--rounds",
        "100000",
        "--checkpoint-every",
        "2",
        "--quiet",
        "--out",
        "r",
    ]
    both = pair.start(words, words, folders)
    while not (folders[0] / "r/state-0.before.safetensors").exists():
        assert both[0].poll() is None, both[0].communicate()
        time.sleep(0.05)
    both[0].send_signal(signal.SIGINT)
    assert "dpdl resume r" in both[0].communicate(timeout=60)[1]
    both[1].communicate(timeout=60)
    assert [process.returncode for process in both] == [130, 130]
    assert {path.name for path in (folders[1] / "r").iterdir()} == {
        *("experiment.json", "state-1.safetensors", "state-1.before.safetensors")
    }
    assert not list(folders[0].glob("r/state-1*"))
    stopped = len((folders[0] / "r/ledger.jsonl").read_text().splitlines()) - 1
    edited = [folder / "r/experiment.json" for folder in folders]
    for (
        path
    ) in edited:  # sigma was given, so the number of rounds may be changed by hand
        path.write_text(
            path.read_text().replace('"rounds": 100000', f'"rounds": {stopped + 2}')
        )
    (_, _, err), _ = pair.run(words, [*words[:-1], "elsewhere"], [tmp_path, folders[1]])
    assert "Folder 'r' of process 1 already holds a run; choose another --out." in err
    assert not (tmp_path / "r").exists()
    again = ["resume", "r", "--placement", "gloo", "--json", "--quiet"]
    (code, out, err), (other, _, _) = pair.run(again, again, folders)
    assert (code, other) == (0, 0), err
    summary = json.loads(out)
    assert summary["rounds"] == stopped + 2
    assert summary["train_loss"] is None
    assert verify(folders[0] / "r").agrees


def last_of(home: Path) -> Checkpoint:
    found = RunFolder(home / "r").last()
    assert found
    return found


def test_a_process_says_what_is_wrong_with_its_own_file(
    pair: Pair, tmp_path: Path
) -> None:
    """Nobody else can: process 0 waits for it, and then sees no more than that it has gone."""
    words = ["run", "--sites", "site0.npz,site1.npz", "--dataset", "digits"]
    words += ["--records", "44,40", "--test", "test.npz", "--sigma", "1", "--quiet"]
    words += ["--graph", "complete", "--batch", "8", "--placement", "gloo"]
    write_sites(tmp_path, (48, 44))
    write_test(tmp_path)
    (tmp_path / "site1.npz").unlink()
    _, second = pair.start(words, words, [tmp_path, tmp_path])
    _, why = second.communicate(timeout=60)
    assert second.returncode == 2
    assert why == "error in process 1: The data file site1.npz does not exist.\n"


def test_a_process_reads_the_files_of_its_own_sites_only(
    pair: Pair, monkeypatch, capsys, tmp_path: Path
) -> None:
    """Each process has a folder with its own site's file and nothing of the other's."""
    sites = ["--sites", "site0.npz,site1.npz", "--dataset", "digits"]
    public = ["--records", "44,40", "--test", "test.npz", "--sigma", "1"]
    words = ["run", *sites, *public, "--graph", "complete", "--rounds", "3", "--quiet"]
    words += ["--algorithm", "dp-dpsgd", "--batch", "8", "--json", "--out", "r"]
    homes = [tmp_path / name for name in ("both", "first", "second")]
    for home in homes:
        home.mkdir()
        write_sites(home, (48, 44))
        write_test(home)
    (homes[1] / "site1.npz").unlink()
    (homes[2] / "site0.npz").unlink()
    ended = pair.run(
        *[[*words, "--placement", "gloo"]] * 2,
        folders=homes[1:],
    )
    assert [code for code, _, _ in ended] == [0, 0], ended
    monkeypatch.chdir(homes[0])
    code, alone, err = dpdl(monkeypatch, capsys, *words)
    assert code == 0, err
    found, expected = json.loads(ended[0][1]), json.loads(alone)
    for fact in ("accuracy", "train_loss", "consensus_distance", "epsilon"):
        assert found[fact] == expected[fact]
    models = [last.state["x"] for last in map(last_of, homes[:2])]
    assert torch.equal(*models)
