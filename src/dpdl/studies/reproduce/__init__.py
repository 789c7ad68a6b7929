"""The paper's tables, run again.

Which experiments, in which order, and what came out beside what was published.
"""
