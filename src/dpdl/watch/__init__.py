"""A live page about runs: reads their files while they grow, and writes nothing."""
