"""Repair by a pattern of the language table: wrappers that a grammar cannot parse become transparent."""

import re

from coderag.ingestion.parsing.languages import Language

_MAX_WRAPPER_DEPTH = 3


def unwrap_transparent(data: bytes, language: Language) -> bytes:
    """Replace the language's transparent wrappers by text that the grammar can parse; the length stays the same."""
    if not language.transparent:
        return data
    wrapper = re.compile(language.transparent.encode(), re.MULTILINE)
    stand_ins = {"opening": language.opening.encode(), "closing": language.closing.encode()}
    for _ in range(_MAX_WRAPPER_DEPTH):
        unwrapped = bytearray(data)
        for match in wrapper.finditer(data):
            for group in wrapper.groupindex:
                start, end = match.span(group)
                unwrapped[start:end] = b"_" * (end - start) if group == "name" else stand_ins[group].ljust(end - start)
        if unwrapped == data:
            break
        data = bytes(unwrapped)
    return data
