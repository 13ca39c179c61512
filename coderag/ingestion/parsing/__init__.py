"""Parsing of files into chunks and facts: languages, queries, declarations and strategies. Does not import LlamaIndex."""
