"""Language models: the providers of the settings, and one with prepared replies."""
