"""Recall of answer lines by tokens spent: CodeRAG against agents that grep and read."""
