"""Which files there are, what is in them, and what changed."""
