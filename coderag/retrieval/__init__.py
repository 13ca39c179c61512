"""The retrieval algorithms: pure functions and resident arrays, without LangGraph or LlamaIndex."""
