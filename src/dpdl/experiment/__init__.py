"""What is asked for: the options of a run, their names and their defaults."""
