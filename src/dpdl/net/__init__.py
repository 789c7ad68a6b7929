"""The verbs that move rows between agents, and the one exit that all of them end at."""

from dpdl.net.messages import Codec, Leaving, Observer
from dpdl.net.net import Net, Part, blocks, divided
from dpdl.net.observers import Gate, Meter

__all__ = [
    "Codec",
    "Gate",
    "Leaving",
    "Meter",
    "Net",
    "Observer",
    "Part",
    "blocks",
    "divided",
]
