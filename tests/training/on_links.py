"""Run under `torchrun`: a secure run over gloo, with a listener on all links."""

from __future__ import annotations

import sys
from pathlib import Path

from dpdl.training.launch import launch
from dpdl.transport.gloo import gloo
from tests.conftest import small_data
from tests.training.links import Links, Tapped
from tests.training.small import changed, planned


def main(out: Path) -> int:
    """How many strangers crossed."""
    links = Links()
    experiment = changed(rounds=6, randomness="secure", eval_every=2)
    p = links.models(planned(small_data(), experiment))

    def placement(work) -> None:
        with gloo() as transport:
            work(Tapped(transport, links))

    result = launch(
        p, out=out, placement=placement, watch=None, observers=[links.released]
    )
    loss = result.summary["train_loss"] if result else None
    sys.stdout.write(
        f"crossed: {len(links.crossed)}, strangers: {links.strangers()}, loss: {loss}\n"
    )
    return len(links.strangers())


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
