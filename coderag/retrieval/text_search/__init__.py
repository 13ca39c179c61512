"""Search for exact text and regular expressions in the files on disk."""
