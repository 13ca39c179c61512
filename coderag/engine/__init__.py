"""What a query or a run of indexing works with: open indexes, runs, chat, enrichment, status."""
