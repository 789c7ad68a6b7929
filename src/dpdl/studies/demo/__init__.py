"""The demonstration: what a neighbour rebuilds without noise, with the paper's, with a proven one.

Its settings are the TOML files beside the code, one folder for each data set: `story.toml` says
what is shown and attacked, every other file is an experiment as `dpdl run` takes it.
"""
