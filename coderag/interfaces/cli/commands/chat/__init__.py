"""``coderag chat``: a conversation in a terminal."""
