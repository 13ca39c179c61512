"""Pictures of the code graph: aggregation by folder and file, neighbourhoods, and layouts."""
