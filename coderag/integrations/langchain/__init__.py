"""CodeRAG as tools for LangChain and LangGraph agents."""
