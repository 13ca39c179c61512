"""Name resolution rules of each language, where languages differ."""
