"""What is written to disk; file names are known here and nowhere else."""
