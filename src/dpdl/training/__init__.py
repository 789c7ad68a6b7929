"""Doing it: the training loop, who may look at what, and where the agents are."""
