"""Inputs of every kind, drawn from a source of randomness: a seed, or Hypothesis.

A case is a folder that was prepared, and a command line. Commands and their options are read off
the click tree, so one that is added tomorrow is covered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from random import Random

import click
import numpy as np

from dpdl.algorithms.dpdl import DPDL
from dpdl.cli import cli
from dpdl.experiment.shared import SHARED
from dpdl.options import allowed_names
from tests.fuzz import damage, values, world

Path_ = tuple[str, ...]


@dataclass(frozen=True)
class Case:
    """One input: a command line, and what was done to which files before."""

    kind: str
    words: tuple[str, ...]
    done: tuple[str, ...] = ()
    mine: tuple[str, ...] = ()  # what the command may write to


# ------------------------------------------------------------------ the click tree
@cache
def commands() -> Mapping[Path_, click.Command]:
    """All commands by their names, groups within groups too."""
    return dict(_below((), cli))


def _below(
    names: Path_, command: click.Command
) -> Iterator[tuple[Path_, click.Command]]:
    if not isinstance(command, click.Group):
        yield names, command
        return
    context = _context(command)
    for name in command.list_commands(context):
        inner = command.get_command(context, name)
        assert inner is not None
        yield from _below((*names, name), inner)


@cache
def parameters(names: Path_) -> tuple[click.Parameter, ...]:
    """The parameters of a command, those of algorithms included."""
    command = commands()[names]
    return tuple(command.get_params(_context(command)))


def _context(command: click.Command) -> click.Context:
    """As on a command line: a command keeps the help option that its first context made."""
    return click.Context(command, parent=click.Context(cli, **cli.context_settings))


PLACES = (
    world.RUN,
    world.OPEN,
    world.DATA,
    world.GRAPH,
    world.MATRIX,
    world.TOML,
    world.COMPARED,
    world.SEARCHED,
    world.CELLS,
    "nowhere",
    "new",
    "new/deep/er",
    f"{world.DATA}/x",
    "loop",
    "pipe",
    ".",
)


def place(r: Random) -> str:
    """A path: of something there is, of something there is not, or of nothing at all."""
    return r.choice(PLACES) if r.random() < 0.85 else _argument(values.text(r))


def _argument(text: str) -> str:
    """As an operating system can hand it over: without NUL, and with undecodable bytes."""
    clean = text.replace("\x00", "")
    return clean.encode("utf-8", "replace").decode() if "\ud800" in clean else clean


def fitting(r: Random, parameter: click.Parameter) -> str | None:
    """A value that an option of experiments takes, if it is one."""
    field = SHARED.get(parameter.name or "")
    if field is None or field.metadata.get("names") is None:
        metavar = str(parameter.metavar or "")
        if "INTEGER" in metavar:
            return str(r.randint(1, r.choice([4, 4, 40])))
        return values.fraction(r, 1e-3, 10) if "FLOAT" in metavar else None
    return r.choice(allowed_names(field))


def value_of(r: Random, parameter: click.Parameter) -> str:
    """A value for a parameter, often one that fits."""
    kind = parameter.type
    if r.random() < 0.5 and (fits := fitting(r, parameter)):
        return fits
    if r.random() < 0.08:
        return _argument(values.text(r))
    if isinstance(kind, click.Path):
        return place(r)
    if isinstance(kind, click.Choice) and r.random() < 0.8:
        return str(r.choice(list(kind.choices)))
    if isinstance(kind, click.types.IntParamType | click.types.FloatParamType):
        return values.number_text(r).replace("\x00", "")
    metavar = str(parameter.metavar or "")
    if any(word in metavar for word in ("INTEGER", "FLOAT")):
        return _argument(values.number_text(r))
    if isinstance(parameter, click.Argument) and r.random() < 0.6:
        return place(r)
    return _argument(values.text(r) if r.random() < 0.8 else values.number_text(r))


def command_line(r: Random, names: Path_) -> list[str]:
    """A command with some of its options, on the tiny experiment as far as it takes it."""
    known = {p.name: p for p in parameters(names)}
    chosen: list[str] = []
    if r.random() < 0.9:
        tiny = {k: v for k, v in world.TINY.items() if _takes(known.get(k))}
        chosen += world.options(tiny)
    for parameter in parameters(names):
        required = parameter.required or isinstance(parameter, click.Argument)
        wanted = 0.9 if required else min(0.3, 4 / len(known))
        if r.random() < wanted:
            chosen += _given(r, parameter)
    return [*names, *chosen]


def _takes(parameter: click.Parameter | None) -> bool:
    return isinstance(parameter, click.Option) and not parameter.is_flag


def _given(r: Random, parameter: click.Parameter) -> list[str]:
    if isinstance(parameter, click.Argument):
        return [value_of(r, parameter)]
    assert isinstance(parameter, click.Option)
    flag = r.choice(parameter.opts)
    if parameter.is_flag:
        return [flag]
    return [flag, value_of(r, parameter)]


# ------------------------------------------------------------------ kinds of input
def of_options(r: Random, home: Path) -> Case:
    """Any command with any options."""
    names = r.choice(list(commands()))
    words = command_line(r, names)
    return Case("options", tuple(words), mine=tuple(words))


READERS: tuple[tuple[str, ...], ...] = (
    ("privacy", "verify"),
    ("privacy", "statement"),
    ("privacy", "statement", "--format", "text"),
    ("report",),
    ("report", "--public"),
    ("export",),
    ("export", "--to", "tensorboard"),
    ("resume", "--quiet"),
    ("resume", "--rounds", "3", "--quiet"),
    ("attack", "--iterations", "1", "--restarts", "1", "--quiet"),
    ("audit", "--canaries", "20", "--rounds", "1"),
    ("theory",),
)


def takers() -> list[tuple[str, ...]]:
    """All commands whose first argument is a run folder, those of tomorrow too."""
    known = {words[0] if words[0] != "privacy" else words[:2] for words in READERS}
    found = [*READERS]
    for names in commands():
        first = next(
            (p for p in parameters(names) if isinstance(p, click.Argument)), None
        )
        is_run = first is not None and first.name in (
            "run_dir",
            "runs",
            "folders",
            "run",
        )
        if is_run and names not in known and names[0] not in known:
            found.append(names)
    return found


def of_runs(r: Random, home: Path) -> Case:
    """A damaged run folder, and any command that reads one."""
    run = r.choice([world.RUN, world.RUN, world.OPEN])
    files = [p for p in sorted((home / run).rglob("*")) if p.is_file()]
    done = []
    for path in r.sample(files, r.choice([1, 1, 1, 2])):
        if path.name != ".lock":
            done.append(f"{path.relative_to(home)}: {damage.damage(r, path)}")
    words = r.choice(takers())
    at = 2 if words[0] == "privacy" else 1
    more = ["--json"] if r.random() < 0.2 and words[0] != "export" else []
    line = (*words[:at], run, *words[at:], *more)
    return Case("run folders", line, tuple(done), mine=(run,))


def of_studies(r: Random, home: Path) -> Case:
    """A damaged folder of a comparison, a search or reproduced cells, and who reads it."""
    which = r.choice([world.COMPARED, world.SEARCHED, world.CELLS])
    files = [p for p in sorted((home / which).rglob("*")) if p.is_file()]
    path = r.choice(files)
    done = f"{path.relative_to(home)}: {damage.damage(r, path)}"
    line = {
        world.COMPARED: ["compare", *COMPARISON, "--out", which, "--quiet"],
        world.SEARCHED: ["tune", *SEARCH, "--out", which, "--quiet"],
        world.CELLS: r.choice(
            [
                ["reproduce", "status", "--out", which],
                ["reproduce", "status", "--out", which, "--markdown"],
                ["reproduce", "acc-mnist", "--out", which, "--dry-run"],
                ["report", which],
            ]
        ),
    }[which]
    return Case("studies", tuple(line), (done,), mine=(which,))


COMPARISON = ["--algorithms", "dpdl", "--dataset", "digits", "--agents", "3"]
SEARCH = ["--over", "lr", "--trials", "2", "--dataset", "digits", "--agents", "3"]


def of_experiments(r: Random, home: Path) -> Case:
    """An experiment in TOML, with values of any kind."""
    offered = [p for p in parameters(("run",)) if p.name in EXPERIMENT]
    lines = []
    tiny = {k: repr(v).replace("'", '"') for k, v in world.TINY.items()}
    for _ in range(r.randint(1, 5)):
        option = r.choice(offered)
        name = (option.name or "") if r.random() < 0.95 else values.text(r)
        fits = fitting(r, option) if r.random() < 0.6 else None
        tiny[name] = _toml(r) if fits is None else _written(fits)
    for name, value in tiny.items():
        key = name if name.isascii() and name.isidentifier() else f'"{name}"'
        lines.append(f"{key} = {value}")
    text = "\n".join(lines) if r.random() < 0.98 else r.choice(ODD_TOML)
    path = home / world.TOML
    path.write_bytes(
        text.encode("utf-8", "surrogateescape" if _escapes(text) else "replace")
    )
    out = ["--out", "new", "--quiet"]
    return Case("experiments", ("run", world.TOML, *out), (text[:300],), mine=("new",))


def _escapes(text: str) -> bool:
    return all(not 0xD800 <= ord(one) <= 0xDC7F for one in text)


ODD_TOML = (
    "a = " + "[" * 3000 + "]" * 3000,
    "a" + ".a" * 3000 + " = 1",
    "[a]\n" * 2,
    "[algorithm]\n",
    "[algorithm]\nname = 1\n",
    '[algorithm]\nname = "dpdl"\nlr = []\n',
    "rounds = 0x" + "f" * 5000,
    "rounds = 1979-05-27",
    "dataset = '''\n\n'''",
    "\x00",
    "\ufeffrounds = 1",
    "preset = 1",
    'preset = "' + "x" * 1000 + '"',
    "sites = [1]",
    'sites = ["site0.npz", "site1.npz", "site2.npz"]\nshape = "5"\n',
    'dataset = "[/b].npz"',
    "options = {}",
    "name = 1",
)


EXPERIMENT = {*SHARED, *(f.name for f in fields(DPDL))}


def _written(text: str) -> str:
    """A number as it is, a text in quotes."""
    return text if text.replace(".", "").isdigit() else f'"{text}"'


def _toml(r: Random) -> str:
    pick = r.randint(0, 7)
    if pick < 2:
        return str(values.whole(r))
    if pick < 4:
        return values.number(r)
    if pick < 6:
        text = values.text(r).replace("\\", "\\\\").replace('"', '\\"')
        return f'"{text}"'
    return r.choice(["true", "[]", "[1]", '["a"]', "{}", "{a = 1}", "1979-05-27", "x"])


def of_graphs(r: Random, home: Path) -> Case:
    """A graph in a file: a list of edges, a matrix, or neither."""
    if r.random() < 0.3:
        name = world.MATRIX
        np.save(home / name, np.zeros(1))
        _matrix(r, home / name)
    else:
        name = r.choice([world.GRAPH, "graph.adj", "graph.txt", "[b].csv", "$g$.txt"])
        (home / name).write_text(_graph(r), "utf-8", "surrogatepass")
    weights = ["--weights", "given"] if r.random() < 0.4 else []
    agents = ["--agents", values.number_text(r)] if r.random() < 0.2 else []
    line = ("graph", name, *weights, *agents, "--out", "new.png")
    return Case("graphs", line, (name,), mine=("new.png",))


def _matrix(r: Random, path: Path) -> None:
    if r.random() < 0.3:
        np.save(path, np.random.default_rng(r.getrandbits(32)).random((3, 3)))
        damage.damage(r, path)
        return
    np.save(path, np.asarray(_square(r) if r.random() < 0.7 else damage.array(r)))


def _square(r: Random) -> np.ndarray:
    """A matrix of weights, nearly one, or one of anything."""
    agents = r.randint(1, 7)
    draw = np.random.default_rng(r.getrandbits(32))
    links = draw.random((agents, agents)) < r.random()
    if r.random() < 0.3:
        return (draw.standard_normal((agents, agents)) * links).astype("f4")
    symmetric = np.triu(links, 1) + np.triu(links, 1).T
    weights = symmetric / (1 + symmetric.sum(0).max())
    weights += np.diag(1 - weights.sum(0))
    if r.random() < 0.4:
        k = r.randrange(agents), r.randrange(agents)
        weights[k] = r.choice([np.nan, np.inf, -1.0, 0.0, r.random(), 1e300])
    return weights


def _graph(r: Random) -> str:
    if r.random() < 0.5:  # a ring with more edges, perhaps
        agents = r.randint(2, 12)
        edges = [(k, (k + 1) % agents) for k in range(agents)]
        more = r.randint(0, 6)
        edges += [(r.randrange(agents), r.randrange(agents)) for _ in range(more)]
        weighted = r.random() < 0.5
        lines = [f"{i} {j}{_weight(r) if weighted else ''}" for i, j in edges]
        r.shuffle(lines)
        return "\n".join(lines)
    lines = []
    for _ in range(r.randint(0, 8)):
        odd = r.random() < 0.2
        row = [_number(r, odd) for _ in range(r.choice([2, 2, 3, 3, 1, 4]))]
        lines.append(r.choice([" ", ",", "\t", ", "]).join(row))
    return r.choice(["\n", "\n", "\r\n", "\n\n"]).join(lines)


def _weight(r: Random) -> str:
    return f" {r.choice([0.1, 0.25, round(r.random(), 3)])}"


ODD_CELLS = ("-1", "nan", "1e400", "9" * 400, "x", "#", "1e9", "0x1", "1_0", "\u0663")


def _number(r: Random, odd: bool) -> str:
    if odd:
        return r.choice([*ODD_CELLS, values.number_text(r)[:50]])
    return r.choice([str(r.randint(0, 9)), f"{r.random():.2f}"])


def of_data(r: Random, home: Path) -> Case:
    """Records in a file, of all agents or of one site."""
    at_sites = r.random() < 0.4
    name = r.choice(world.SITES) if at_sites else world.DATA
    how = damage.damage(r, home / name)
    out = ["--out", "new"]
    if not at_sites:
        if r.random() < 0.5:
            line = ["data", "describe", "--dataset", name, "--agents", "3", *out]
        else:
            line = ["run", *world.options(world.TINY), *out, "--quiet"]
    else:
        few = ["--rounds", "1", "--batch", "2", "--sigma", "1", "--model", "mlp"]
        places = ",".join(world.SITES)
        line = ["run", "--sites", places, "--shape", "5", *few, *out, "--quiet"]
        odd = ["classes", "labels", "2 labels", "numbers", "9 classes", values.text(r)]
        kind = "3 classes" if r.random() < 0.7 else r.choice(odd)
        line += ["--predict", _argument(kind)]
    return Case("data", tuple(line), (f"{name}: {how}",), mine=("new",))


PLANS = ("dpdl", "dpdl-sound", "dp-dpsgd", "muffliato", "decor", "pdsl")


def of_privacy(r: Random, home: Path) -> Case:
    """A plan of noise with numbers of every order of magnitude."""
    which = r.choice(["sigma", "epsilon"])
    few = ["--agents", r.choice(["3", "4", "10"]), "--algorithm", r.choice(PLANS)]
    target = [f"--{'epsilon' if which == 'sigma' else 'sigma'}"]
    target.append(values.fraction(r, 1e-3, 1e4))
    line = ["privacy", which, *few, *target]
    batch, records = r.choice([1, 8, 64, 300]), r.choice([1, 20, 300, 6000, 10**6])
    line += ["--batch", str(batch), "--records", str(records)]
    line += ["--rounds", str(int(float(values.fraction(r, 1, 1e5))))]
    for name, low, high in (("delta", 1e-12, 0.9), ("c1", 1e-3, 1e3), ("c2", 0.1, 10)):
        if r.random() < 0.4:
            line += [f"--{name}", values.fraction(r, low, high)]
    if r.random() < 0.3:
        line += ["--plot", "new.png"]
    return Case("privacy", tuple(line), mine=("new.png",))


KINDS: Mapping[str, Callable[[Random, Path], Case]] = {
    "options": of_options,
    "run folders": of_runs,
    "studies": of_studies,
    "experiments": of_experiments,
    "graphs": of_graphs,
    "data": of_data,
    "privacy": of_privacy,
}
OFTEN = {
    "options": 16,
    "run folders": 2,
    "studies": 4,
    "experiments": 4,
    "graphs": 12,
    "data": 12,
    "privacy": 1,
}
"""How often each is drawn where there are millions of inputs: the quick ones more often."""
