"""Output of commands: results, progress, errors."""
