"""Reasons to skip a file by its text: generated, minified, or a pointer to a file elsewhere."""

import re
from typing import Final

_HEADER_LINES = 20
_HEADER_BLOCK = re.compile(r"\A(?:\s|#![^\n]*+\n|<\?.*?\?>)*+(?:/\*.*?\*/|<!--.*?-->)", re.DOTALL)
_COMMENT_LINE = re.compile(r"^[ \t]*(?://|#|/?\*|--|;|%|<!--|\(\*|\{-|\"\"\"|''')(.*)$", re.MULTILINE)
_GENERATED_PHRASES = (
    r"\bauto(?:matically)?[-_ ]*generated\b|\b(?:code|file|is|was|been)\s+generated\b"
    r"|\bgenerated\s+(?:by|from|file|code|using|with)\b"
)
_GENERATED = re.compile(
    rf"""^\W*@generated\b
    | <auto-?generated\b
    | \b(?:file|code)\s+(?:is|was|has\s+been)\s+auto(?:matically)?[-_ ]*generated\b
    | (?:{_GENERATED_PHRASES})[\s\S]{{0,300}}\bdo\s+not\s+(?:edit|modify|change|alter)\b
    | \bdo\s+not\s+(?:edit|modify|change|alter)\b[\s\S]{{0,300}}(?:{_GENERATED_PHRASES})""",
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
GENERATED_REASON: Final = "generated file"
MINIFIED_REASON: Final = "minified file"
POINTER_REASON: Final = "pointer of Git LFS"

_LONG_LINE_CHARS = 500
_MAX_LINE_CHARS = 1_000_000  # a longer line is a dump, which only a raised size limit lets in
_MIN_CODE_DENSITY = (
    0.03  # share of (){}; in a line: minified code has at least 0.1, base64 and tables of numbers almost none
)
_MINIFIED_SUFFIXES = (".js", ".mjs", ".cjs", ".css", ".html", ".htm")
_POINTER_START = "version https://git-lfs.github.com/spec/"
_MAX_POINTER_CHARS = 1_024  # Git LFS specification


def find_skip_reason(path: str, text: str) -> str:
    """Return why a text is not meant for readers, one of the constants of this module; empty if it is."""
    if text.startswith(_POINTER_START) and len(text) < _MAX_POINTER_CHARS and "\noid " in text:
        return POINTER_REASON
    if path.lower().endswith(_MINIFIED_SUFFIXES) and _is_minified(text):
        return MINIFIED_REASON
    if len(text) > _MAX_LINE_CHARS and max(map(len, text.splitlines())) > _MAX_LINE_CHARS:
        return MINIFIED_REASON
    return GENERATED_REASON if _is_generated(text) else ""


def _is_generated(text: str) -> bool:
    """Return whether a comment in the first lines declares the file generated; strings in code do not count."""
    head = "\n".join(text[: _HEADER_LINES * _LONG_LINE_CHARS].split("\n", _HEADER_LINES)[:_HEADER_LINES])
    if "generated" not in head.lower():
        return False
    block = _HEADER_BLOCK.match(head)
    comments = [block.group()] if block else []
    comments += _COMMENT_LINE.findall(head)
    return _GENERATED.search("\n".join(comments)) is not None


def _is_minified(text: str) -> bool:
    """Return whether most of a text is long lines of code. A long line of data does not count."""
    dense = sum(len(line) for line in text.splitlines() if len(line) > _LONG_LINE_CHARS and _is_dense(line))
    return 2 * dense > len(text)


def _is_dense(line: str) -> bool:
    return sum(map(line.count, "(){};")) > _MIN_CODE_DENSITY * len(line)
