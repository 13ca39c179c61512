"""Commands of ``coderag``, one module each."""
