"""A process that was killed leaves half a file; the next one that writes removes it, and no other."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dpdl.folder import litter, names
from dpdl.folder.run_folder import RunFolder

OURS = (
    ".state.safetensors.abcd1234",
    ".state-3.safetensors.a_cd1234",
    ".state-3.before.safetensors.a_cd1234",
    ".summary.json.zzzzzzzz",
    ".metrics.jsonl.00000000",
    ".training.png.0123abcd.part",
)
NOT_OURS = (
    ".lock",
    ".state.safetensors.abc",
    ".state.safetensors.ABCD1234",
    ".report.html.abcd1234",
    ".notes.txt.abcd1234",
    "state.safetensors.abcd1234",
    ".state.safetensors.abcd1234.part.txt",
    ".gitignore",
    "state.safetensors",
)


def aged(path: Path) -> None:
    path.write_text("x")
    os.utime(path, (time.time() - 3600,) * 2)


def test_only_what_is_ours_is_removed(tmp_path: Path) -> None:
    for name in (*OURS, *NOT_OURS):
        aged(tmp_path / name)
    litter.sweep_run(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == set(NOT_OURS)


def test_folders_and_links_of_such_a_name_stay(tmp_path: Path) -> None:
    (tmp_path / OURS[0]).mkdir()
    (tmp_path / OURS[3]).symlink_to("nowhere")
    litter.sweep_run(tmp_path)
    assert len(list(tmp_path.iterdir())) == 2


def test_a_picture_that_may_still_be_drawn_stays(tmp_path: Path) -> None:
    (tmp_path / OURS[-1]).write_text("x")
    litter.sweep_run(tmp_path)
    assert (tmp_path / OURS[-1]).exists()


def test_a_recording_and_a_study_are_swept_too(tmp_path: Path) -> None:
    recording = tmp_path / names.RECORDING
    recording.mkdir()
    left = (recording / ".000002-b1.safetensors.abcd1234", recording / ".x.abcd1234")
    for path in left:
        aged(path)
    aged(tmp_path / ".tune.json.abcd1234")
    litter.sweep_run(tmp_path)
    assert [path.exists() for path in left] == [False, True]
    assert (tmp_path / ".tune.json.abcd1234").exists()
    litter.sweep_study(tmp_path)
    assert not (tmp_path / ".tune.json.abcd1234").exists()


@pytest.mark.parametrize("tracker", ["wandb", "mlflow", "trackio"])
def test_of_a_trackers_folder_only_our_file_is_swept(
    tmp_path: Path, tracker: str
) -> None:
    (tmp_path / tracker).mkdir()
    ours = tmp_path / tracker / ".tracked.json.abcd1234"
    its_own = tmp_path / tracker / ".summary.json.abcd1234"
    for path in (ours, its_own):
        aged(path)
    litter.sweep_run(tmp_path)
    assert (ours.exists(), its_own.exists()) == (False, True)


def test_who_is_kept_out_by_the_lock_removes_nothing(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    with run.writing():
        aged(tmp_path / OURS[0])
        with pytest.raises(Exception, match="another process"), run.writing():
            pass
        assert (tmp_path / OURS[0]).exists()


WRITER = """
import sys
from pathlib import Path
from dpdl.folder import files
path = Path(sys.argv[1]) / "state.safetensors"
print("ready", flush=True)
while True:
    files.write(path, b"x" * 20_000_000)
"""


def test_what_kill_9_leaves_is_removed_by_the_next_writer(tmp_path: Path) -> None:
    """A real process, killed while it writes a checkpoint."""
    left: list[Path] = []
    for _ in range(20):
        left = killed_while_writing(tmp_path)
        if left:
            break
    assert left, "no process was killed while it wrote"
    state = (tmp_path / names.STATE).exists()
    with RunFolder(tmp_path).writing():
        assert not any(path.exists() for path in left)
    assert (tmp_path / names.STATE).exists() == state


def killed_while_writing(folder: Path) -> list[Path]:
    command = [sys.executable, "-c", WRITER, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and not list(folder.glob(".state.*")):
            pass
        writer.send_signal(signal.SIGKILL)
    return list(folder.glob(".state.*"))
