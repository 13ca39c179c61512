"""History of code as evidence: the commits that answer a question."""
