"""What an adversary can rebuild from what left an agent."""
