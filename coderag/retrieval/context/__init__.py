"""Contexts: what is packed into a token budget, and how it is written."""
