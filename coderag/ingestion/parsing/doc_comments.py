"""Documentation text: docstrings and comments without markers, and one-line signatures."""

import re
from collections.abc import Sequence

_QUOTES = re.compile(r"^~?[a-zA-Z]{0,2}(\"\"\"|'''|\"|')(.*?)\1$", re.DOTALL)
_OPENING = re.compile(r"^\s*(?:/\*[*!]*|\(\*+|\{-+(?:[ \t]*[|^])?|<!--|=begin\b|--\[=*\[|#\[=*\[)", re.MULTILINE)
_CLOSING = re.compile(r"[^\S\n]*(?:\*+/|\*+\)|-+\}|-->|^=end|\]=*\])[^\S\n]*$", re.MULTILINE)
_CLOSING_MARKS = ("*/", "*)", "-}", "-->", "=end", "]")
_LINE_MARK = re.compile(r"^[^\S\n]*(?://[/!]*<?|#+!?|--+(?:[ \t]*[|^])?|;+|%+|\*(?!\*)|\"(?=\s))[ \t]?", re.MULTILINE)
_RULE = re.compile(r"^[^\w\n]+$|^_+$", re.MULTILINE)
_MAX_SIGNATURE_CHARS = 300


def clean_docstring(literal: str) -> str:
    """Return the text of a documenting string literal, without quotes and common indentation."""
    quoted = _QUOTES.match(literal.strip())
    return _strip_indentation((quoted[2] if quoted else literal).split("\n"))


def clean_comment(comment: str) -> str:
    """Return the text of a comment block, without the markers of any supported language."""
    text = comment
    if any(mark in comment for mark in _CLOSING_MARKS):  # searching every comment costs more than all the rest
        text = _OPENING.sub("", _CLOSING.sub("", comment))
    return _strip_indentation(_RULE.sub("", _LINE_MARK.sub("", text)).strip("\n").split("\n"))


def _strip_indentation(lines: Sequence[str]) -> str:
    lines = [line.rstrip() for line in lines]
    indents = [len(line) - len(line.lstrip()) for line in lines[1:] if line.strip()]
    margin = min(indents, default=0)
    return "\n".join([lines[0].strip(), *(line[margin:] for line in lines[1:])]).strip()


def format_signature(text: str) -> str:
    """Format a declaration's header as one line, truncated to about 300 characters."""
    line = " ".join(text.split())
    return line if len(line) <= _MAX_SIGNATURE_CHARS else line[: _MAX_SIGNATURE_CHARS - 1] + "…"
