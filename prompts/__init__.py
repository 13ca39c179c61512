"""Prompt files; data only."""
