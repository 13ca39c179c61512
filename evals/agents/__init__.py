"""Trial of agents: the same tasks with CodeRAG's MCP tools, and with grep and read."""
