"""Evaluation of answers to questions about the history of code. See README.md."""
