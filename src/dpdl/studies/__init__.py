"""Many runs: comparisons, searches, the paper's tables, attacks."""
