"""LangGraph wiring, loaded by name in `coderag.app`. The order of the steps of a query is in `coderag.nodes.steps`."""
