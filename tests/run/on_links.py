"""Run under `torchrun`: a secure run over gloo, with a listener on all links, as `dpdl run` starts it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dpdl.algorithms import DPDL
from dpdl.run.plan import plan
from dpdl.run.train import launch
from dpdl.transport import Gloo
from tests.conftest import small_data, small_module
from tests.run.links import Links
from tests.run.test_train import changed


def main(out: Path) -> int:
    """How many strangers crossed."""
    links, swap = Links(), Gloo.swap

    def heard(self: Gloo, rows, expect, like):
        links.heard(rows)
        return swap(self, rows, expect, like)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Gloo, "swap", heard)
        links.watch_exit_and_models(patch, DPDL)
        p = plan(changed(rounds=6, randomness="secure", eval_every=2), data=small_data(), model=small_module())
        result = launch(p, out=out, placement="gloo", watch=None)
    loss = result.summary["train_loss"] if result else None
    sys.stdout.write(f"crossed: {len(links.crossed)}, strangers: {links.strangers()}, loss: {loss}\n")
    return len(links.strangers())


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
