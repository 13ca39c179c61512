"""Checks of installation, settings, index and models (docs/doctor.md)."""
