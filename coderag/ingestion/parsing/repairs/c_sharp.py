"""Repair of C# 14, which is newer than the grammar.

An extension block, ``extension(string text) { ... }``, is parsed as a class with a primary constructor, whose parameter is the
receiver. The query for declarations leaves the class out, so that its members belong to the static class around it.
"""

import re
from typing import Final

from coderag.ingestion.parsing.repairs.repair_draft import NESTED_ARGUMENTS

# The patterns begin with literals, which a search finds several times as fast; what stands before them is checked afterwards.
_EXTENSION_BLOCK: Final = re.compile(
    rb"extension(?=\s*+(?:<[^;{}()]{0,200}>\s*+)?" + NESTED_ARGUMENTS + rb"\s*+(?:where\b[^;{}]{0,500})?\{)"
)
_STAND_IN: Final = b"class ___"
_CONDITIONAL_TARGET: Final = re.compile(
    rb"\?(?=[.\[])[\w.\[\]!?]{0,200}+(?=[ \t]*+(?:[-+*/%&|^]|<<|>>|\?\?)?=(?![=>]))"
)
_COMPOUND_OPERATOR: Final = re.compile(rb"operator\s*+(?:checked\s++)?(?:[-+*/%&|^]|<<|>>>?)(=)(?=\s*+\()")
_STATEMENT_START: Final = re.compile(rb"(?:.*[;{}])?[ \t]*+")
_TARGET_START: Final = re.compile(rb"(?:.*[;{}])?[ \t]*+[\w.\[\]!]++")
_MAX_LINE_BYTES: Final = 300


def repair_c_sharp(data: bytes) -> bytes:
    """Repair a source text in C#."""
    repaired = bytearray(data)
    if b"extension" in data:
        for block in _EXTENSION_BLOCK.finditer(data):
            if _STATEMENT_START.fullmatch(_read_line_before(data, block.start())):
                repaired[slice(*block.span())] = _STAND_IN
    for target in _CONDITIONAL_TARGET.finditer(data):
        if _TARGET_START.fullmatch(_read_line_before(data, target.start())):
            repaired[slice(*target.span())] = target[0].replace(b"?", b" ")
    for operator in _COMPOUND_OPERATOR.finditer(data):
        repaired[operator.start(1)] = b" "[0]
    return bytes(repaired)


def _read_line_before(data: bytes, offset: int) -> bytes:
    """Return the part of a line before an offset, or the end of that part."""
    start = max(offset - _MAX_LINE_BYTES, 0)
    return data[max(data.rfind(b"\n", start, offset) + 1, start) : offset]
