"""Generations of an index in object storage, shared by machines (docs/operating/object-storage.md)."""
