"""Retrieval of mirrored items: whole items are ranked, and each shows its best section."""
