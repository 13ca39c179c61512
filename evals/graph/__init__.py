"""Precision and recall of the code graph against tools that nobody here wrote. See README.md."""
