"""Summaries by a language model of chunks, files and folders, and their way into the index.

`targets` defines what is summarized and the keys of summaries, `cached_sentences` inserts cached summaries into chunks
before they are stored, and `enricher` has new ones written. Nothing here imports LlamaIndex.
"""
