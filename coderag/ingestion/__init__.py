"""From files to chunks: scanning, parsing, summarising, counting, embedding, writing."""
