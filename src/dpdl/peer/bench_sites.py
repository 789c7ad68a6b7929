"""Sites on one machine, to measure: throw-away keys, random records, processes of their own."""

from __future__ import annotations

import os
import random
import re
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, final

import numpy as np

from dpdl.errors import RunFailed
from dpdl.experiment.experiment import from_mapping
from dpdl.peer.consent import adopt, approve
from dpdl.peer.home import Home
from dpdl.peer.manifest_parts import Rules
from dpdl.peer.proposal import propose
from dpdl.peer.run_folder import PeerRun
from dpdl.peer.site_process import last_words, start_site
from dpdl.peer.slow_link import HOST, SlowLink
from dpdl.peer.store_reader import DATABASE, StoreReader

SHAPES = {"digits": (1, 8, 8), "small": (1, 16, 16), "mnist": (1, 28, 28)}
"""Of a record; `small` is the smallest that LeNet takes."""
AMPLE = (1e9, 0.5)
"""The budget of random numbers."""
PORTS = range(15_000, 32_000)
"""Below those that Linux gives connections and whoever listens anywhere."""
POLL = 0.01
"""Seconds between two looks at where the rounds are."""
STALLED = 300.0
"""Seconds without a new round after which a measurement is given up."""
TICKS = os.sysconf("SC_CLK_TCK")
SYNC = re.compile(r"(?:fsync|fdatasync)\(\d+<(?P<path>[^>]*)>")
OF_A_ROUND = re.compile(r"run\.sqlite|run\.payloads|round\.key|ledger\.sqlite")
"""Files that are made durable in every round; others follow the clock."""


@final
@dataclass(frozen=True)
class PeerCase:
    """What is run: an experiment between some sites."""

    algorithm: str
    form: str  # one of SHAPES
    model: str
    batch: int
    members: int
    rounds: int
    delay: float = 0.0  # seconds of every link, each way
    traced: bool = False  # under strace, which counts fsyncs


class Seen(NamedTuple):
    """What all peers have used up to a moment."""

    time: float
    rounds: tuple[int, ...]  # that have begun, of every peer
    processor: tuple[float, ...]  # seconds
    passed: int  # bytes on all links
    syncs: int  # for rounds, of all peers
    other_syncs: int


@final
class BenchSites:
    """The sites of one case, in a folder."""

    def __init__(self, case: PeerCase, folder: Path) -> None:
        """Make keys, records, proposal and approvals."""
        self.case = case
        self.folder = folder
        self._open = ExitStack()
        ports = free_ports(case.members)
        self._links = [
            self._open.enter_context(SlowLink(port, case.delay)) for port in ports
        ]
        self.homes = [
            self._home(f"site-{k}", port, link.port)
            for k, (port, link) in enumerate(zip(ports, self._links, strict=True))
        ]
        self.runs = self._agreed()
        self._processes: list[subprocess.Popen[bytes]] = []

    def _home(self, name: str, port: int, outside: int) -> Home:
        case = self.case
        url, listen = f"https://{HOST}:{outside}", f"{HOST}:{port}"
        home = Home.create(self.folder / name, name, url, listen=listen)
        file, records = self.folder / f"{name}.npz", 4 * case.batch
        write_random(file, SHAPES[case.form], records)
        shape = ",".join(map(str, SHAPES[case.form]))
        home.add_data(
            "random",
            file,
            budget=AMPLE,
            declare=records,
            shape=shape,
            predict="10 classes",
        )
        return home

    def _agreed(self) -> list[PeerRun]:
        cards = [home.card for home in self.homes]
        for home in self.homes:
            for card in cards:
                if card.name != home.name:
                    home.admit(card)
        experiment = from_mapping(self._options())
        names = ["random"] * len(cards)
        content, initial = propose(experiment, cards, names, Rules())
        file = self.folder / "manifest.toml"
        file.write_bytes(content)
        (self.folder / "initial.safetensors").write_bytes(initial)
        runs = [adopt(home, file) for home in self.homes]
        for home, run in zip(self.homes, runs, strict=True):
            approve(home, run, "nobody, in a measurement")
        return runs

    def _options(self) -> Mapping[str, object]:
        case = self.case
        return {
            "algorithm": case.algorithm,
            "model": case.model,
            "batch": case.batch,
            "rounds": case.rounds,
            "graph": "ring",
            "sigma": 4.0,
            "eval_every": case.rounds,
            "randomness": "secure",
        }

    # ------------------------------------------------------------------ processes
    def start(self) -> None:
        """One process for each site: `dpdl peer run`, with one core."""
        for number, (home, run) in enumerate(zip(self.homes, self.runs, strict=True)):
            log = self._open.enter_context(
                (self.folder / f"{home.name}.log").open("wb")
            )
            tracer = self._tracer(number)
            self._processes.append(start_site(home, run, log, cores=1, tracer=tracer))

    def _tracer(self, number: int) -> list[str]:
        if not self.case.traced:
            return []
        calls = ["-e", "trace=fsync,fdatasync", "-e", "signal=none"]
        return ["strace", "-f", "-y", "-qq", *calls, "-o", str(self._trace(number))]

    def _trace(self, number: int) -> Path:
        return self.folder / f"trace-{number}"

    def close(self) -> None:
        """End all processes and links."""
        for process in self._processes:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
        for process in self._processes:
            process.communicate()  # closes its standard input, too
        self._open.close()

    # ------------------------------------------------------------------ looking
    def wait_for(self, round: int) -> Seen:
        """What was used when all peers have begun a round."""
        last, since = -1, time.monotonic()
        while (least := min(self._rounds())) < round:
            self._check()
            if least > last:
                last, since = least, time.monotonic()
            if time.monotonic() - since > STALLED:
                raise RunFailed(f"The peers do not get beyond round {last}.")
            time.sleep(POLL)
        return self._seen()

    def finish(self) -> int:
        """Bytes that have passed on all links when all peers have ended well."""
        for process in self._processes:
            with suppress(subprocess.TimeoutExpired):
                process.wait(STALLED)
        self._check()
        if any(process.returncode is None for process in self._processes):
            raise RunFailed("The peers have not ended.")
        return sum(link.passed for link in self._links)

    def _check(self) -> None:
        for home, process in zip(self.homes, self._processes, strict=True):
            if process.poll():
                last = last_words(self.folder / f"{home.name}.log")
                raise RunFailed(f"A peer of the measurement has ended: {last}")

    def _rounds(self) -> tuple[int, ...]:
        return tuple(_begun(run) for run in self.runs)

    def _seen(self) -> Seen:
        traces = [self._trace(k) for k in range(len(self.runs))]
        texts = [one.read_text("utf-8") for one in traces if one.exists()]
        syncs = [count_syncs(text) for text in texts]
        return Seen(
            time.monotonic(),
            self._rounds(),
            tuple(processor_seconds(process.pid) for process in self._processes),
            sum(link.passed for link in self._links),
            sum(one for one, _ in syncs),
            sum(other for _, other in syncs),
        )


def _begun(run: PeerRun) -> int:
    if not (run.path / DATABASE).exists():
        return 0
    with StoreReader(run.path) as store:
        return store.here.round


def count_syncs(text: str) -> tuple[int, int]:
    """Calls in what strace wrote: of files that a round makes durable, and of others."""
    paths = [found["path"] for found in SYNC.finditer(text)]
    of_rounds = sum(OF_A_ROUND.search(Path(path).name) is not None for path in paths)
    return of_rounds, len(paths) - of_rounds


def processor_seconds(pid: int) -> float:
    """What all threads of a process have used."""
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def free_ports(count: int) -> Sequence[int]:
    """Ports that nobody listens on at the moment, and that no connection is given by itself."""
    with ExitStack() as sockets:
        found: list[int] = []
        while len(found) < count:
            one = sockets.enter_context(socket.socket())
            with suppress(OSError):
                one.bind((HOST, random.choice(PORTS)))
                found.append(one.getsockname()[1])
        return found


def write_random(file: Path, shape: tuple[int, ...], records: int) -> None:
    """Random records of ten classes, and a few to test on."""
    generator = np.random.default_rng()
    x = generator.standard_normal((records, *shape)).astype(np.float32)
    y = np.arange(records) % 10
    np.savez(file, x=x, y=y, x_test=x[:10], y_test=y[:10])
