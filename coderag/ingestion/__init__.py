"""Turn files into embedded chunks: scan, parse, summarize, count terms, embed, write."""
