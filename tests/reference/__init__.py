"""Each algorithm once more, as plain loops over agents and samples: slow, and easy to check against its paper."""
