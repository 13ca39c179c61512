"""The warm service under load, and killed at any moment."""
