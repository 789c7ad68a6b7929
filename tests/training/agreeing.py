"""An algorithm whose agents agree on a mean, on a complete graph: the smallest there is."""

from __future__ import annotations

from dataclasses import dataclass

from dpdl.algorithms.base import Info, Stepped, batch_info
from dpdl.algorithms.disclosure import OwnGradients
from dpdl.privacy.releases import Release


@dataclass(frozen=True)
class Agreeing(Stepped):
    """Gradient descent along the mean of all perturbed gradients."""

    agrees = True
    disclosure = OwnGradients()

    def init(self, x):
        return {"x": x}

    def agreed(self, x, batches, net, grad, t, channel):
        answers = grad.own(x, batches, net.selves, t)
        return net.mix(channel, answers.private), Info(batch_info(answers, net))

    def round(self, state, batches, net, grad, t):
        x = state["x"]
        g, info = self.agreed(x, batches, net, grad, t, "gradient")
        return {"x": x - self.eta(t) * g}, info

    def releases(self, grad):
        moved, sigma = grad.clip.sensitivity, grad.noise_multiplier
        return (Release("gradient", True, "perturbed gradients", moved, sigma),)
