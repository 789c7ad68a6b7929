"""Private gradients: clipping, sampling, noise, and the paper's rule for how much of it."""

from dpdl.privacy.clipping import Clip, Clipped, PerChunk, PerSample, Unclipped
from dpdl.privacy.mechanism import Answers, PrivateGradient
from dpdl.privacy.noise import Randomness, Reproducible, Secure
from dpdl.privacy.sampling import FixedSize, Poisson, Sampling

__all__ = [
    "Answers",
    "Clip",
    "Clipped",
    "FixedSize",
    "PerChunk",
    "PerSample",
    "Poisson",
    "PrivateGradient",
    "Randomness",
    "Reproducible",
    "Sampling",
    "Secure",
    "Unclipped",
]
