"""The description of a run: its options, their names and their defaults."""
