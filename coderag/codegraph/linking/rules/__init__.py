"""What names mean in each language, where languages differ."""
