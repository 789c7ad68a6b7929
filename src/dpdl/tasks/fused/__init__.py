"""Gradients by compiled kernels, for networks of common layers; others take the plain path."""

from dpdl.tasks.fused.engine import Engine, engine_for

__all__ = ["Engine", "engine_for"]
