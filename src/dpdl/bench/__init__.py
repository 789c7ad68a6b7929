"""How fast it is: ratios that are measured in one run.

Machines differ, and the same one differs from hour to hour.
"""
