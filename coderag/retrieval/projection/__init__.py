"""Two-dimensional map of a generation's chunk vectors."""
