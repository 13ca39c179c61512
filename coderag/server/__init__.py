"""The team server: accounts, keys, roles, grants, audit, repositories by URL and their jobs."""
