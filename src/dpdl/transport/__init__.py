"""Where the other agents are, and how rows get there: the only thing that differs between placements."""

from dpdl.transport.base import Alone, PeerLost, Transport
from dpdl.transport.gloo import Gloo
from dpdl.transport.threads import Threads

__all__ = ["Alone", "Gloo", "PeerLost", "Threads", "Transport"]
