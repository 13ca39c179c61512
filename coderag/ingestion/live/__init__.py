"""Files that were edited since they were indexed: which those are, and their chunks, made while a question is answered."""
