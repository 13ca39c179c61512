"""LangGraph graphs: wiring and routing only. Loaded by name, in `coderag.app`."""
