"""CodeRAG inside other agents: a node of a LangGraph graph, tools for LangChain and LlamaIndex, a LlamaIndex retriever."""
