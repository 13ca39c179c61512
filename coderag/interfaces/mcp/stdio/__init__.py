"""``coderag mcp``: one session over standard input and output, carried on by the service or in this process."""
