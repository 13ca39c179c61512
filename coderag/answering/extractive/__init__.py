"""Answers without a language model: each shape of answer written from the evidence and the code graph."""
