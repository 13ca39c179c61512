"""Documentation and backlog systems, mirrored as items."""
