"""Ranking: signals over files, choice of results, merging, model rerankers."""
