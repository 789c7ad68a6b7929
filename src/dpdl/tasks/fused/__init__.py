"""Gradients by compiled kernels, for networks made of the usual layers. Any other network takes the plain path."""

from dpdl.tasks.fused.engine import Engine, engine_for

__all__ = ["Engine", "engine_for"]
