"""What a run will do and what it will cost, before anything is sent."""
