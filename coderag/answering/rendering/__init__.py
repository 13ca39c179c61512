"""Renderers of answers: sections with checked citations as Markdown, and as the records of the public schema."""
