"""Language models: providers of the settings, and a scripted model."""
