"""Browsing of a repository: its tree, files, chunks, and declarations between callers and callees."""
