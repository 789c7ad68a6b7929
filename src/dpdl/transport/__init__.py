"""Where the other agents are, and how rows get there: all that differs between placements."""

from dpdl.transport.base import Address, Alone, PeerLost, Transport, WrongMessage
from dpdl.transport.gloo import Gloo
from dpdl.transport.post import COLLECT, CONTROL, OF_THE_RUN, Post
from dpdl.transport.threads import Threads

__all__ = [
    "COLLECT",
    "CONTROL",
    "OF_THE_RUN",
    "Address",
    "Alone",
    "Gloo",
    "PeerLost",
    "Post",
    "Threads",
    "Transport",
    "WrongMessage",
]
