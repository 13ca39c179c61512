"""Put CodeRAG into the configuration of agents, and take it out again (docs/install.md)."""
