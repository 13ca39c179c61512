"""Per-file work of indexing, and the processes that run it. Nothing here imports LlamaIndex."""
