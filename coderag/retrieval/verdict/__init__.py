"""Verdict: how well results answer a question, and the files that are not indexed."""
