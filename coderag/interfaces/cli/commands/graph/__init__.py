"""``coderag graph``: queries of the code graph."""
