"""Embedding models (the embedded one and the providers), LLMs and rerankers."""
