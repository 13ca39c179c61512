"""LlamaIndex embedding classes: additions to LlamaIndex's own, and replacements of missing ones.

Each module imports packages that take seconds or are extras, so `coderag.models.providers` imports only the one it needs.
"""
