"""Running experiments: description, plan, training loop, measurements, run folder."""
