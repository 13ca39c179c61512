"""The work that is done file by file, and the processes that do it. Nothing here imports LlamaIndex."""
