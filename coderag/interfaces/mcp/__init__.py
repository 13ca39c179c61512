"""MCP server: the interface for agents."""
