"""`dpdl peer rehearse`: all members of a manifest as processes on one machine.

Keys are thrown away, records are random numbers of the right shape, and everything else is the
manifest's: the same code, the same graph, the same model, real sockets with TLS. No approval is
needed and no budget is spent.
"""

from __future__ import annotations

import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import final

import numpy as np

from dpdl.errors import InputError, RunFailed
from dpdl.folder.files import write
from dpdl.peer.auditing import audit_run
from dpdl.peer.consent import adopt, approve
from dpdl.peer.documents import read_file
from dpdl.peer.home import Home
from dpdl.peer.home_making import SETTINGS
from dpdl.peer.loop import model_of, unpacked
from dpdl.peer.manifest import Manifest, manifest_text
from dpdl.peer.run_folder import LARGEST_MODEL, PeerRun
from dpdl.peer.site_process import last_words, start_site
from dpdl.peer.site_settings import write_settings
from dpdl.peer.store_reader import StoreReader
from dpdl.planning.sites import form_at_sites
from dpdl.records import Record
from dpdl.tasks.data.form import Form

AMPLE = (1e9, 0.5)
"""The budget of random numbers."""
NOBODY = "nobody, in a rehearsal"


@final
@dataclass(frozen=True)
class Rehearsal(Record):
    """What a rehearsal showed."""

    members: tuple[str, ...]
    rounds: int
    seconds: float
    audits: tuple[str, ...]  # "ok", or what is wrong, of every member
    distance: float  # the largest between two members' models

    @property
    def ok(self) -> bool:
        """Whether every member's audit is."""
        return all(one == "ok" for one in self.audits)


def rehearse(
    manifest: Manifest,
    initial: bytes,
    folder: Path,
    rounds: int,
    say: Callable[[str], None],
) -> Rehearsal:
    """Run the first rounds of a manifest here, in `folder`, which must not hold anything yet."""
    homes = _homes(manifest, folder)
    content = _retold(manifest, homes, rounds)
    write(folder / "manifest.toml", content)
    write(folder / "initial.safetensors", initial)
    runs = [_approved(home, folder) for home in homes]
    say(f"{len(homes)} members, {rounds} rounds, on this machine.")
    began = time.monotonic()
    _run_all(homes, runs, folder)
    seconds = time.monotonic() - began
    audits = [audit_run(home, run) for home, run in zip(homes, runs, strict=True)]
    return Rehearsal(
        manifest.names,
        rounds,
        round(seconds, 3),
        tuple("ok" if one.ok else one.problems[0] for one in audits),
        _distance(runs),
    )


def rehearse_file(
    file: Path,
    rounds: int,
    out: Path | None,
    say: Callable[[str], None],
    modules: Sequence[str] = (),
) -> Rehearsal:
    """Rehearse the manifest in a file, with the initial model beside it.

    Code of the members' own is imported if its module is one of `modules`.
    """
    manifest = Manifest.parse(read_file(file), modules)
    initial = read_file(file.parent / "initial.safetensors", LARGEST_MODEL)
    most = manifest.experiment_of().rounds
    if not 1 <= rounds <= most:
        raise InputError(f"rounds must be from 1 to {most}, not {rounds}.")
    if out is not None:
        if out.exists() and any(out.iterdir()):
            raise InputError(f"Folder {str(out)!r} is not empty.")
        out.mkdir(parents=True, exist_ok=True)
        return rehearse(manifest, initial, out, rounds, say)
    with tempfile.TemporaryDirectory() as folder:
        return rehearse(manifest, initial, Path(folder), rounds, say)


def _homes(manifest: Manifest, folder: Path) -> list[Home]:
    """Throw-away sites that know each other."""
    form = form_at_sites(manifest.experiment_of())
    homes = []
    for member, port in zip(
        manifest.members, _ports(len(manifest.members)), strict=True
    ):
        url = f"https://127.0.0.1:{port}"
        home = Home.create(folder / member.name, member.name, url, listen=_listen(port))
        settings = replace(home.settings, modules=manifest.modules)
        write_settings(home.path / SETTINGS, settings)
        file = folder / f"{member.name}.npz"
        _write_random(file, form, member.records)
        said = manifest.form
        home.add_data(
            member.data,
            file,
            budget=AMPLE,
            declare=member.records,
            shape=said.shape,
            predict=said.predict,
            scaling=said.scaling,
        )
        homes.append(home)
    cards = [home.card for home in homes]
    for home in homes:
        for card in cards:
            if card.name != home.name:
                home.admit(card)
    return homes


def _listen(port: int) -> str:
    return f"127.0.0.1:{port}"


def _ports(count: int) -> list[int]:
    with ExitStack() as sockets:
        found = [sockets.enter_context(socket.socket()) for _ in range(count)]
        for one in found:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in found]


def _write_random(file: Path, form: Form, records: int) -> None:
    """Random records, and as many test records as a fifth of them."""
    generator = np.random.default_rng()
    count = records + max(2, records // 4)
    size = (count, *form.shape)
    pixels = str(form.dtype) == "torch.uint8"
    x = (
        generator.integers(0, 256, size, dtype=np.uint8)
        if pixels
        else generator.standard_normal(size).astype(np.float32)
    )
    y = form.targets.blank(count).numpy()
    test = max(2, records // 4)
    np.savez(file, x=x[test:], y=y[test:], x_test=x[:test], y_test=y[:test])


def _retold(manifest: Manifest, homes: Sequence[Home], rounds: int) -> bytes:
    """The manifest with other keys and addresses, and fewer rounds."""
    members = [
        replace(
            member,
            key=home.card.key,
            agreement=home.card.agreement,
            url=home.card.url,
        )
        for member, home in zip(manifest.members, homes, strict=True)
    ]
    return manifest_text(
        {**manifest.experiment, "rounds": rounds},
        members,
        manifest.weights,
        manifest.privacy,
        manifest.model,
        manifest.form,
        replace(manifest.rules, ends=None),
    )


def _approved(home: Home, folder: Path) -> PeerRun:
    run = adopt(home, folder / "manifest.toml")
    approve(home, run, NOBODY)
    return run


def _run_all(homes: Sequence[Home], runs: Sequence[PeerRun], folder: Path) -> None:
    """One process for each member, all of which must end well."""
    share = max(1, (os.cpu_count() or 1) // len(homes))
    with ExitStack() as files:
        processes = []
        for home, run in zip(homes, runs, strict=True):
            log = files.enter_context((folder / f"{home.name}.log").open("wb"))
            processes.append(start_site(home, run, log, cores=share))
        _wait(processes, [home.name for home in homes], folder)


def _wait(
    processes: Sequence[subprocess.Popen[bytes]], names: Sequence[str], folder: Path
) -> None:
    """Until all have ended; when one fails, the others are ended, too."""
    waiting = dict(zip(names, processes, strict=True))
    try:
        while waiting:
            for name, process in [*waiting.items()]:
                code = process.poll()
                if code:
                    last = last_words(folder / f"{name}.log")
                    raise RunFailed(f"{name} ended with exit code {code}: {last}")
                if code == 0:
                    del waiting[name]
            time.sleep(0.05)
    finally:
        for process in waiting.values():
            process.kill()
        for process in processes:
            process.communicate()  # closes its standard input, too


def _distance(runs: Sequence[PeerRun]) -> float:
    """The largest Euclidean distance of a member's model from the first one's."""
    models = []
    for run in runs:
        with StoreReader(run.path) as store:
            models.append(model_of(unpacked(store.state()))[0].double())
    return max(float((one - models[0]).norm()) for one in models)
