"""Review of a change: both sides of each file, dependents, tests, history."""
