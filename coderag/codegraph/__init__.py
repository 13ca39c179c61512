"""Symbols, references and relations of a repository."""
