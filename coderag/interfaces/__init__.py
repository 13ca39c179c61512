"""Interfaces: each maps requests to calls of `coderag.app.CodeRAG` and formats the results. They are independent."""
