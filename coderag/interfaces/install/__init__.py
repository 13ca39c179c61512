"""Installation into the configuration of coding agents, and removal (docs/install.md)."""
