"""The index on disk: LanceDB tables, lexical arrays, generations and the writer's lock.

Import the module you need: `index_store` (numpy only at import), `lexical`, `protocols`.
"""
