"""Evaluation of structural questions against relations recorded by independent tools. See README.md."""
