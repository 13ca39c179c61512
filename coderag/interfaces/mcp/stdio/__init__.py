"""``coderag mcp``: one session over standard input and output, served by the service or in this process."""
