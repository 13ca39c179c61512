"""Precision and recall of the code graph against independent tools. See README.md."""
