"""Commands of ``coderag server``."""
