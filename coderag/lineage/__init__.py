"""History of code: commits, the declarations that they changed, blame and co-change."""
