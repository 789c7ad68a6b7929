"""Your own module and your own tensors: six agents on a ring learn to tell four kinds of stripes apart.

Every agent holds two of the four kinds only, so none of them could learn the task alone.
Run it with: python examples/own_model.py
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

import dpdl

KINDS = ("rows", "columns", "falling", "rising")


def stripes(count: int, seed: int) -> tuple[Tensor, Tensor]:
    """`count` noisy pictures of 12 x 12 pixels, and the kind of stripe each one shows."""
    draw = torch.Generator().manual_seed(seed)
    down, right = torch.meshgrid(torch.arange(12.0), torch.arange(12.0), indexing="ij")
    direction = torch.stack([down, right, down + right, down - right])
    y = torch.randint(len(KINDS), (count,), generator=draw)
    shift = torch.rand(count, 1, 1, generator=draw) * 6
    x = torch.sin(direction[y] + shift) + 0.5 * torch.randn(
        count, 12, 12, generator=draw
    )
    return x[:, None], y


class Net(nn.Module):
    """A small convolutional network. GroupNorm looks at one sample at a time; BatchNorm would be refused."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3), nn.GroupNorm(2, 8), nn.ReLU(), nn.AdaptiveMaxPool2d(2)
        )
        self.classify = nn.Linear(32, len(KINDS))

    def forward(self, x: Tensor) -> Tensor:
        return self.classify(self.features(x).flatten(1))


def main() -> float:
    x, y = stripes(3000, seed=1)
    x_test, y_test = stripes(500, seed=2)
    data = dpdl.Dataset(
        "stripes", x, y, x_test, y_test, classes=len(KINDS), mean=(0.0,), std=(1.0,)
    )

    experiment = dpdl.Experiment(
        dataset="stripes",  # only a name here, because `data` is given below
        algorithm="dpdl-sound",  # the variant of DPDL for real records
        graph="ring",
        agents=6,
        partition="shards",
        classes_per_agent=2,
        rounds=60,
        batch=32,
        lr=0.2,
        clip=1.0,
        epsilon=4.0,
    )
    torch.manual_seed(0)  # the initial parameters of your module are yours
    result = dpdl.train(experiment, data=data, model=Net(), graph=dpdl.graph.ring(6))

    for m in result.metrics:
        accuracy = m["accuracy"]
        print(
            f"round {m['round']:3}  loss {m['train_loss']['mean']:.3f}  accuracy {accuracy['mean']:.1%}"
        )
    print(f"noise multiplier sigma {result.summary['sigma']:.3f}")
    print(result.summary["privacy_statement"])

    module = (
        result.module()
    )  # the average of all agents' models; `module(3)` is that of agent 3
    with torch.no_grad():
        guess = module(x_test).argmax(1)
    print(
        "the first five test pictures:", ", ".join(KINDS[k] for k in guess[:5].tolist())
    )
    return float((guess == y_test).float().mean())


if __name__ == "__main__":
    print(f"test accuracy of the average model: {main():.1%}")
