"""Many repositories open at once, with the jobs that index them: what every server of CodeRAG serves."""
