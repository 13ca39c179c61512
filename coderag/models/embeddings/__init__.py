"""LlamaIndex embedding classes, one a provider: what they add to LlamaIndex's own, and those that LlamaIndex lacks.

Each imports packages that take seconds or are extras, so `coderag.models.providers` imports the one that it needs.
"""
