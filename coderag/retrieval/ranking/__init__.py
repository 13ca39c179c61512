"""Ranking: signals over files, the choice of results, merging, model rerankers."""
