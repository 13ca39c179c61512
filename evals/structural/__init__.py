"""Questions about structure, in words, held against what tools that nobody here wrote know. See README.md."""
