"""Repairs of a source text before it is parsed, for what a grammar cannot parse.

Every repair keeps the length of the text and its line breaks, so that all offsets stay valid. Only the parser reads the
repaired text: chunks, hashes and names come from the text of the file.
"""
