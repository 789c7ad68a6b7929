"""The paper's tables, run again: which experiments, in which order, and what came out beside what was published."""
