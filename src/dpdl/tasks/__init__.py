"""What is learned: data sets, their division among agents, and models on flat rows."""
