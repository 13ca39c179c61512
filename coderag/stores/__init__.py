"""The index on disk: LanceDB tables, lexical arrays, generations and the writer's lock.

Import the module you need: `index_store` (numpy only at import), `lexical`, `protocols`; `lancedb_store` and
`bm25_retriever` import LlamaIndex and take seconds.
"""
