"""Contexts: packing into a token budget, and output formats."""
