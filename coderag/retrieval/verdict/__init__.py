"""Verdict on the results, and relevant files that are not indexed."""
