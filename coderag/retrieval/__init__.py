"""Retrieval algorithms: pure functions over resident arrays, without LangGraph or LlamaIndex."""
