"""A file's text as chunks: languages, queries, declarations and the ways of cutting. Nothing here imports LlamaIndex."""
