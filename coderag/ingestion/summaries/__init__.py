"""Sentences that a language model writes of chunks, files and folders, and how they come into the index.

`subjects` says what is summarised and by what it is known, `kept` puts sentences into chunks that are about to be stored,
`enriching` has them written. Only `transform` imports LlamaIndex.
"""
