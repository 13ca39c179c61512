"""LangGraph wiring, loaded by name in `coderag.engine.graph_loader`. The steps of a query are in `coderag.nodes.steps`."""
