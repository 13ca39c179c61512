"""Public result types, graph records and plans. Imports nothing of the project."""
