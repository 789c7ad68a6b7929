"""How fast it is, as ratios measured in one run: machines differ, and the same one differs from hour to hour."""
