"""Run folders as they look while a run goes on, of any size and without any training."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

from dpdl.folder.ledger_cost import neighbours_of, weights_of
from dpdl.folder.ledger_lines import START, line_hash
from dpdl.graph import Graph, ring
from tests.folder.measured import RUN

SECRET = 0.123454321
"""A training loss that can be recognised."""


def line(round: int, agents: int = 3, **changes: Any) -> bytes:
    """One evaluated round of so many agents."""
    mean = round / (round + 10)
    scores = [round_to(mean + 0.001 * k) for k in range(agents)]
    content = {
        "round": round,
        "train_loss": {"mean": 2 / round, "min": 1 / round, "max": 3 / round},
        "accuracy": {
            "mean": mean,
            "worst": mean - 0.1,
            "best": mean + 0.1,
            "average_model": mean + 0.05,
            "agents": scores,
        },
        "consensus_distance": 0.5 + 1 / round,
        "clip_fraction": 0.5,
        "gradient_norm": 0.25,
        "epsilon": 0.1 * round,
        "bytes_sent": 1000 * round,
        "broken_gradients": 0,
        "seconds": 0.5 * round,
        **changes,
    }
    return json.dumps(content).encode() + b"\n"


def round_to(value: float) -> float:
    return float(f"{value:.5g}")


class Growing:
    """A run folder that grows when it is told to."""

    def __init__(
        self, path: Path, graph: Graph | None = None, rounds: int = 40
    ) -> None:
        self.path, self.graph = path, graph or ring(3)
        self.agents = len(self.graph)
        path.mkdir(parents=True)
        facts = json.loads((RUN / "experiment.json").read_text())
        facts["graph_sha256"] = hashlib.sha256(self.graph.W.tobytes()).hexdigest()
        facts["experiment"] |= {
            "agents": self.agents,
            "rounds": rounds,
            "graph": self.graph.name,
        }
        self.facts = facts
        self.write_facts()
        self._head = START
        self._charge_line(self._header(rounds))
        self.metrics = path / "metrics.jsonl"
        self.ledger = path / "ledger.jsonl"

    def _header(self, rounds: int) -> dict[str, Any]:
        content = json.loads((RUN / "ledger.jsonl").read_text().splitlines()[0])
        each = {name: [v[0]] * self.agents for name, v in content["sigma_eff"].items()}
        return {
            **content,
            "rounds": rounds,
            "records": [400] * self.agents,
            "neighbours": neighbours_of(self.graph),
            "weights": weights_of(self.graph),
            "sigma_eff": each,
        }

    def _charge_line(self, content: dict[str, Any]) -> None:
        text = json.dumps({**content, "prev": self._head}).encode()
        self._head = line_hash(text)
        with (self.path / "ledger.jsonl").open("ab") as file:
            file.write(text + b"\n")

    def write_facts(self, **options: Any) -> None:
        self.facts["experiment"] |= options
        (self.path / "experiment.json").write_text(json.dumps(self.facts))

    def go(self, first: int, last: int, **changes: Any) -> None:
        """Charge and evaluate these rounds."""
        for t in range(first, last + 1):
            self._charge_line({"round": t})
        with self.metrics.open("ab") as file:
            for t in range(first, last + 1):
                file.write(line(t, self.agents, **changes))

    def finish(self) -> None:
        shutil.copy(RUN / "summary.json", self.path / "summary.json")


def listing(folder: Path) -> dict[str, bytes]:
    """All files, and what is in them."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
