"""Evaluation of retrieval: golden sets, metrics, the runner. See README.md."""
