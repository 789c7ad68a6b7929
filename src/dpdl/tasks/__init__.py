"""What is learned: data sets, how they are split over agents, and models on flat rows."""
