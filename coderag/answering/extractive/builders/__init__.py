"""Builders of sections, one module a subject of answers."""
