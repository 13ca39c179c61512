"""Adapters for LlamaIndex users: node parser, summarizer, pipeline, embedding, vector store, retrievers, tools."""
