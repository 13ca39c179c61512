"""CodeRAG as a node of another LangGraph graph."""
