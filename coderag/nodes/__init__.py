"""The LangGraph node functions, one a file; each calls the algorithm and returns what it changed."""
