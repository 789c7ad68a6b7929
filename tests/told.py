"""Facts of a story that nobody told, for tests of what is shown."""

from __future__ import annotations

from dpdl.folder.attack_facts import CaseScores, TrivialScores
from dpdl.folder.demo_facts import DemoFacts, DemoPart
from dpdl.privacy.epsilon import UNBOUNDED, UNKNOWN, Epsilon
from dpdl.privacy.epsilons import Epsilons


def scores(ssim: float, p: float) -> CaseScores:
    """A case of six images."""
    return CaseScores(
        who="ND",
        scenario="cg",
        round=5,
        batch=1,
        own_batch=64,
        mse=0.03,
        psnr=20.8,
        ssim=ssim,
        mse_unit=0.01,
        label_recovery=0.5,
        labels="known",
        method="peel",
        images=6,
        best_trivial="mean",
        best_trivial_mse=0.3,
        p_better_than_trivial=p,
    )


def part(
    name: str,
    ssim: float,
    p: float,
    claimed: Epsilon = UNKNOWN,
    proven: Epsilon = UNBOUNDED,
    certified: float | None = None,
) -> DemoPart:
    """A part with the same epsilon against everybody."""
    keys = ("eavesdropper", "neighbour", "final_model")
    return DemoPart(
        name=name,
        title=f"{name} noise",
        run=f"runs/demo/mnist-{name}",
        algorithm="dpdl",
        model="lenet",
        rounds=100,
        accuracy=0.9123,
        sigma=0.5,
        delta=1e-5,
        epsilon=Epsilons(claimed, dict.fromkeys(keys, proven)),
        certified=certified,
        confidence=None if certified is None else 0.95,
        attack=scores(ssim, p),
        seconds=8.0,
    )


def facts(picture: str | None = None, notes: tuple[str, ...] = ()) -> DemoFacts:
    """Three parts and a control."""
    return DemoFacts(
        dataset="mnist",
        graph="bipartite",
        agents=10,
        parts=(
            part("no", 0.91, 0.016),
            part("paper's", 0.01, 1.0, Epsilon(0.5), Epsilon(2509.1), 2.58),
            part("proven", 0.02, 1.0, proven=Epsilon(0.4999)),
        ),
        control=part("control", 0.3, 0.016),
        trivial=(TrivialScores("mean", 0.3, 11.2, 0.13, 0.07),),
        out="runs/demo",
        picture=picture,
        page="runs/demo/report.html",
        notes=notes,
    )
