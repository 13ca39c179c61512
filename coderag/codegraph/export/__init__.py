"""The code graph for other programs: JSON, GraphML and Cypher."""
