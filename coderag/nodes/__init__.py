"""LangGraph node functions, one per file; each calls an algorithm and returns the changed keys."""
