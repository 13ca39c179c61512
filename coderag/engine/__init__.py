"""Engine: open indexes, runs of queries, chat, enrichment and status."""
