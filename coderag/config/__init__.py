"""Settings: models, files, trust and restrictions."""
