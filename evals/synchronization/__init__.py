"""Measurements of the synchronisation of sources."""
