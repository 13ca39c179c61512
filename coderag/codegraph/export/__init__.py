"""Export of the code graph as JSON, GraphML and Cypher."""
