"""Several sites on one machine: folders, keys, cards, a manifest that all approved, and processes.

A server process has imported torch and the accountant, and forks, so that a peer that was killed
starts again at once.
Nothing is computed in the process of the tests, whose threads would not survive a fork.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import NamedTuple

import numpy as np
from torch import Tensor

from dpdl.errors import DpdlError
from dpdl.experiment.experiment import from_mapping
from dpdl.net import Net
from dpdl.peer.consent import adopt, approve
from dpdl.peer.frame import FrameHead, digest_of
from dpdl.peer.frame_bytes import decode
from dpdl.peer.home import Home
from dpdl.peer.manifest import Manifest, Rules
from dpdl.peer.material import Material
from dpdl.peer.plan import first_view, own_site, public_plan
from dpdl.peer.proposal import propose
from dpdl.peer.round_key import RoundKey
from dpdl.peer.run_folder import PeerRun
from dpdl.peer.running import Manner, Peer
from dpdl.peer.site_settings import read_settings, write_settings
from dpdl.peer.view import FIRST
from dpdl.peer.wire import NetworkSettings
from dpdl.planning.site import AgentRecords, Site
from dpdl.tasks import data as datasets
from tests.peer.escrow import Escrowed

NAMES = ("mercy", "olav", "vita", "anna", "luke", "rosa")
QUICK = NetworkSettings(
    host="127.0.0.1", port=0, long_poll=2.0, first_pause=0.01, longest_pause=0.2
)
"""Settings that lose no time in a test."""


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on at the moment."""
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def shares(count: int, records: int = 90) -> list[tuple[np.ndarray, np.ndarray]]:
    """Some digits for every site: different numbers, different mixes of classes."""
    digits = datasets.load("digits")
    x, y = digits.x.numpy(), digits.y.numpy()
    order = np.argsort(y, kind="stable")
    found = []
    for k in range(count):
        part = order[k * len(order) // count : (k + 1) * len(order) // count]
        mixed = np.concatenate(
            [part[: records // 2 + 5 * k], order[k::29][: records // 2]]
        )
        found.append((x[mixed], y[mixed]))
    return found


FORKS = get_context("forkserver")
FORKS.set_forkserver_preload(["tests.peer.group", "dp_accounting"])
Fault = tuple[str, int]
"""A point, and how often it is reached before the process is killed there."""


class Hardship(NamedTuple):
    """What happens to a process besides being killed."""

    failing: tuple[str, int, int] | None = None  # point, how often reached, errno
    largest_file: int | None = None  # bytes: as of a full disk
    home: Path | None = None  # another folder than the site's own
    port: int | None = None  # another one than the site's own


NONE = Hardship()


@dataclass
class Group:
    """The sites of one run."""

    path: Path
    settings: NetworkSettings = QUICK
    processes: dict[int, BaseProcess] = field(default_factory=dict)

    @property
    def manifest(self) -> Manifest:
        modules = read_settings(self.path / NAMES[0] / "peer.toml").modules
        return Manifest.parse((self.path / "manifest.toml").read_bytes(), modules)

    @property
    def ports(self) -> list[int]:
        return list(json.loads((self.path / "ports.json").read_text()))

    def home(self, number: int) -> Home:
        return Home.open(self.path / NAMES[number])

    def run(self, number: int) -> PeerRun:
        home = self.home(number)
        return PeerRun(home.run_folder(self.manifest.hash), home.settings.modules)

    # ------------------------------------------------------------------ processes
    def start(
        self, number: int, fault: Fault | None = None, hardship: Hardship = NONE
    ) -> None:
        """A process that runs one site to its end."""
        self.processes[number] = self.another(number, fault, hardship)

    def another(
        self, number: int, fault: Fault | None = None, hardship: Hardship = NONE
    ) -> BaseProcess:
        """A process as that of `start`, beside the one that may run already."""
        arguments = (self, number, fault, hardship)
        one = FORKS.Process(target=run_site, args=arguments, daemon=True)
        one.start()
        return one

    def ended(self, number: int, seconds: float = 30.0) -> int:
        """The exit code of a process that ends by itself."""
        one = self.processes.pop(number)
        one.join(seconds)
        if one.exitcode is None:
            one.kill()
            raise AssertionError(self.log(number))
        return one.exitcode

    def start_all(self) -> None:
        for number in range(len(self.ports)):
            self.start(number)

    def __getstate__(self) -> dict[str, object]:
        return {"path": self.path, "settings": self.settings, "processes": {}}

    def kill(self, number: int) -> None:
        """kill -9, if the process still runs."""
        one = self.processes.pop(number)
        one.kill()
        one.join()

    def send(self, number: int, signal_number: int) -> None:
        pid = self.processes[number].pid
        assert pid
        os.kill(pid, signal_number)

    def finished(self, number: int) -> int | None:
        """The exit code of a process that has ended; None: it runs."""
        code = self.processes[number].exitcode
        if code is not None:
            del self.processes[number]
        return code

    def wait(self, seconds: float = 60.0) -> dict[int, int]:
        """The exit codes of all processes; whoever has not ended by then is killed."""
        codes: dict[int, int] = {}
        until = time.monotonic() + seconds
        while self.processes and time.monotonic() < until:
            for number in list(self.processes):
                code = self.finished(number)
                if code is not None:
                    codes[number] = code
            time.sleep(0.01)
        for number in list(self.processes):
            self.kill(number)
            codes[number] = -999
        return codes

    def close(self) -> None:
        for number in list(self.processes):
            self.kill(number)

    def log(self, number: int) -> str:
        file = self.path / f"log-{number}.txt"
        return file.read_text() if file.exists() else ""

    def seen(self) -> list[Arrived]:
        """Every frame that ever arrived anywhere, in no order."""
        files = self.path.glob("seen-*.txt")
        lines = [line for file in files for line in file.read_text().splitlines()]
        return [Arrived(*json.loads(line)) for line in lines]

    def models(self) -> np.ndarray:
        """The final models of all sites."""
        files = [self.path / f"model-{k}.npy" for k in range(len(self.ports))]
        return np.stack([np.load(file) for file in files])

    def reference(self) -> np.ndarray:
        """The models of the same rounds in one process, with the secrets that the peers had."""
        in_child(write_reference, self)
        return np.load(self.path / "reference.npy")

    # ------------------------------------------------------------------ secrets, in escrow
    def keys(self, agent: int, t: int) -> list[bytes]:
        content = (self.path / f"secret-{agent}-{t}").read_bytes()
        return [content[k : k + 32] for k in range(0, len(content), 32)]

    def secret(self, agent: int, t: int) -> bytes:
        return self.keys(agent, t)[0]

    def links(self, t: int) -> Mapping[tuple[int, int], bytes]:
        view, names = first_view(self.manifest), self.manifest.names
        found: dict[tuple[int, int], bytes] = {}
        for k, name in enumerate(names):
            secret, *links = self.keys(k, t)
            others = [other for other in names if other != name]
            material = Material(secret, dict(zip(others, links, strict=True)))
            for pair, key in material.noise_keys(view, name).items():
                assert found.setdefault(pair, key) == key
        return found


def in_child(work: Callable[..., None], *arguments: object) -> None:
    """Do something in a process of its own, which must end well."""
    one = FORKS.Process(target=work, args=arguments)
    one.start()
    one.join()
    assert one.exitcode == 0


class Arrived(NamedTuple):
    """What an auditor at a receiver notes of a frame."""

    view: int
    round: int
    step: int
    source: str
    target: str
    channel: str
    sha256: str  # of the whole frame

    @property
    def slot(self) -> tuple[int, int, int, str, str]:
        """One payload at most may ever be seen for it."""
        return self[:5]


def said_twice(seen: Iterable[Arrived]) -> list[Arrived]:
    """Frames for a slot that another frame was seen for."""
    first: dict[tuple[int, int, int, str, str], Arrived] = {}
    return [one for one in seen if first.setdefault(one.slot, one) != one]


def noting(path: Path) -> Callable[[FrameHead, bytes], None]:
    """Writes down what arrives; a line is there whatever happens to the process."""
    file = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY)

    def note(expected: FrameHead, content: bytes) -> None:
        try:
            head = decode(content, expected).head
        except ValueError:
            return
        about = (*head.slot, head.source, head.target, head.channel)
        os.write(file, json.dumps((*about, digest_of(content))).encode() + b"\n")

    return note


def run_site(
    group: Group, number: int, fault: Fault | None, hardship: Hardship = NONE
) -> None:
    """What the process of one site does."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    log = os.open(
        group.path / f"log-{number}.txt", os.O_CREAT | os.O_APPEND | os.O_WRONLY
    )
    os.dup2(log, 1)
    os.dup2(log, 2)
    settings = replace(group.settings, port=hardship.port or group.ports[number])
    home = Home.open(hardship.home or group.path / NAMES[number])
    run = PeerRun(home.run_folder(group.manifest.hash), home.settings.modules)
    if hardship.largest_file is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hardship.largest_file,) * 2)

    def escrow(t: int) -> None:
        if peer.view.number != FIRST:
            return
        material = RoundKey(run.round_key).material(FIRST, t)
        (group.path / f"secret-{number}-{t}").write_bytes(b"".join(material))

    manner = Manner(
        settings,
        say=print,
        watch=escrow,
        fault=dying(fault, hardship.failing),
        heard=noting(group.path / f"seen-{number}.txt"),
        linger=5.0,
    )
    try:
        peer = Peer(home, run, manner)
        try:
            ended = peer.run()
        finally:
            peer.close()
    except DpdlError as failure:
        print(f"{type(failure).__name__}: {failure}", flush=True)
        os._exit(failure.exit_code)
    np.save(group.path / f"model-{number}.npy", ended.model.numpy())


def dying(
    fault: Fault | None, failing: tuple[str, int, int] | None = None
) -> Callable[[str], None]:
    """Kills its process when a point is reached for the n-th time, or fails there."""
    seen: Counter[str] = Counter()

    def reach(point: str) -> None:
        seen[point] += 1
        if failing is not None and (point, seen[point]) == failing[:2]:
            raise OSError(failing[2], os.strerror(failing[2]))
        if fault is not None and (point, seen[point]) == fault:
            os.kill(os.getpid(), signal.SIGKILL)

    return reach


def write_reference(group: Group) -> None:
    """All agents in this process, with the secrets in escrow."""
    manifest, view = group.manifest, first_view(group.manifest)
    plan = public_plan(manifest, view, group.run(0).initial())
    randomness = Escrowed(group.secret, group.links)
    records: dict[int, AgentRecords] = {}
    for k, name in enumerate(manifest.names):
        file = str(group.home(k).data_file(manifest.members[k].data))
        records |= own_site(manifest, view, plan, name, file, randomness).records
    site = Site(plan, records, {}, False, randomness)
    net = Net(view.graph)
    state = plan.algorithm.init(plan.task.initial.repeat(len(records), 1))
    late: list[Tensor] = []
    e = plan.experiment
    for t in range(1, e.rounds + 1):
        batches = site.batches(net.agents, t)
        state, _ = plan.algorithm.round(state, batches, net, site.grad, t)
        if t > e.rounds - int(e.average * e.rounds):
            late.append(state["x"].clone())
    mean = state["x"].clone() if not late else late[0]
    for count, x in enumerate(late[1:], 2):
        mean += (x - mean) / count
    np.save(group.path / "reference.npy", mean.numpy())


SETTINGS = {
    "graph": "ring",
    "algorithm": "dpdl-sound",
    "model": "mlp",
    "rounds": 4,
    "batch": 16,
    "sigma": 4.0,
    "eval_every": 2,
    "randomness": "secure",
}
"""A run that takes no time."""


DECLARED = (70, 72)
"""By the first site, and by each of the others: the accountant is asked once for each number."""


def make_group(path: Path, count: int = 3, **options: object) -> Group:
    """Sites that have approved one run on digits.

    `ports` are where they listen, and `public_ports` where the others are told to find them; who
    has one of the `mailboxes` accepts no connections. `modules` are of code that all sites allow.
    """
    in_child(build_group, path, count, options)
    return Group(path)


def build_group(path: Path, count: int, options: Mapping[str, object]) -> None:
    """Folders, data, cards, manifest and approvals."""
    settings: dict[str, object] = {**SETTINGS, **options}
    budget = (float(str(settings.pop("budget_epsilon", 1e6))), 1e-5)
    ports = settings.pop("ports", None) or free_ports(count)
    public = settings.pop("public_ports", None) or ports
    mailboxes = dict(settings.pop("mailboxes", {}))
    modules = settings.pop("modules", ())
    (path / "ports.json").write_text(json.dumps(ports))
    homes = []
    for name, port, (x, y) in zip(NAMES, public, shares(count), strict=False):
        mailbox = mailboxes.get(name)
        url = None if mailbox else f"https://127.0.0.1:{port}"
        home = Home.create(path / name, name, url, mailbox=mailbox)
        allowed = replace(home.settings, modules=modules)
        write_settings(home.path / "peer.toml", allowed)
        file = path / f"{name}.npz"
        np.savez(file, x=x, y=y)
        said = DECLARED[len(homes) > 0]
        home.add_data("digits", file, budget=budget, declare=said, like="digits")
        homes.append(home)
    cards = [home.card for home in homes]
    for home in homes:
        for card in cards:
            if card.name != home.name:
                home.admit(card)
    agree(path, homes, settings)


def agree(path: Path, homes: list[Home], settings: Mapping[str, object]) -> None:
    """A manifest, which all approve."""
    experiment = from_mapping({"dataset": "digits", **settings})
    cards = [home.card for home in homes]
    content, initial = propose(experiment, cards, ["digits"] * len(homes), Rules())
    (path / "manifest.toml").write_bytes(content)
    (path / "initial.safetensors").write_bytes(initial)
    for home in homes:
        approve(home, adopt(home, path / "manifest.toml"), "Test Person")


def propose_another(path: Path, options: Mapping[str, object]) -> None:
    """A further run of sites that are there; `refused.txt` says why it was not approved."""
    count = len(json.loads((path / "ports.json").read_text()))
    homes = [Home.open(path / name) for name in NAMES[:count]]
    try:
        agree(path, homes, {**SETTINGS, "graph": "complete", **options})
    except DpdlError as failure:
        (path / "refused.txt").write_text(f"{type(failure).__name__}: {failure}")
