"""Adapters for other agents: a LangGraph node, tools for LangChain and LlamaIndex, a LlamaIndex retriever."""
