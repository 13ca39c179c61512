"""Extractive and generated answers, and the check of their citations."""
