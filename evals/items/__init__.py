"""Evaluation of the search in mirrored pages and tickets, on documents of public projects."""
