"""Name resolution: from the facts of all files to the edges between them."""
