"""Search in mirrored items: pages and tickets of documentation and backlog systems."""
