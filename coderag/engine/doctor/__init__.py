"""Checks of what CodeRAG works with on this machine: the installation, settings, index, and models (docs/doctor.md)."""
