"""Rerankers: a local cross-encoder, or a language model of an Ollama server."""
