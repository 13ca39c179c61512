"""Markup around scripts: cut points, and names and files that it uses."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, pairwise

from coderag.text.token_counts import estimate_tokens

ONLY_CLOSING_TAGS = re.compile(rb"(?:\s|</[\w.:-]+\s*>)*").fullmatch

_TAG_LINE = re.compile(rb"^([ \t]*)(?:<[A-Za-z!?%]|\{[%#@{])", re.MULTILINE)
_MAX_INDENTATIONS = 40  # distinct indentations tried
_COMPONENT = re.compile(r"<([A-Z][\w.]*|[a-z]\w*(?:-\w+)+)(?=[\s/>])")
_CALL = re.compile(r"(?<![\w$.-])(?:[\w$]+\.)*([A-Za-z_$][\w$]*)\(")
_HANDLER = re.compile(r"(?:@[\w.:-]+=\"|\bon:?\w+=\{)([A-Za-z_$][\w$]*)(?=[\"}])")
_SCRIPT_OR_STYLE = re.compile(r"<(script|style)\b.*?(?:</\1\s*>|\Z)", re.DOTALL | re.IGNORECASE)
_NON_CALLS = frozenset(
    {"if", "for", "while", "switch", "catch", "function", "return", "rgb", "rgba", "url", "var", "calc"}
)
_USED_FILE = re.compile(
    r"""\b(?:src|href)\s*=\s*["']([^"':{}?#<>]+\.(?:m?[jt]s|[jt]sx|s?css|less|vue|svelte))["']"""
    r"""|\{%-?\s*(?:extends|include|import|from)\s+["']([^"']+)["']"""
)


def find_tag_lines(data: bytes, starts: Sequence[int], first: int, last: int, max_tokens: int) -> list[int]:
    """Return the lines within ``[first, last)`` at which to cut: tags of the smallest sufficient indentation."""
    begin, end = starts[first], starts[last]
    tags = [
        (len(tag[1].expandtabs(4)), bisect_right(starts, tag.start()) - 1)
        for tag in _TAG_LINE.finditer(data, begin, end)
    ]
    totals = [0, *accumulate(estimate_tokens(data[low:high]) for low, high in pairwise(starts[first : last + 1]))]
    lines: list[int] = []
    for indentation in sorted({indent for indent, _ in tags})[:_MAX_INDENTATIONS]:
        lines = [line for indent, line in tags if indent <= indentation and line > first]
        parts = pairwise([0, *(line - first for line in lines), last - first])
        if all(totals[high] - totals[low] <= max_tokens for low, high in parts):
            break
    return lines


def find_used_names(text: str) -> list[str]:
    """Return the components and functions that markup uses, in order; ``<user-card>`` is ``UserCard``."""
    markup = _SCRIPT_OR_STYLE.sub("", text)
    uses = [(match.start(), _to_pascal_case(match[1])) for match in _COMPONENT.finditer(markup)]
    for pattern in (_CALL, _HANDLER):
        uses += [(match.start(), match[1]) for match in pattern.finditer(markup) if match[1] not in _NON_CALLS]
    return list(dict.fromkeys(name for _, name in sorted(uses)))


def _to_pascal_case(tag: str) -> str:
    if "-" in tag:
        return "".join(word[:1].upper() + word[1:] for word in tag.split("-"))
    return tag.rpartition(".")[2]


def find_used_files(text: str) -> list[str]:
    """Return the scripts, styles and templates that markup references."""
    return list(dict.fromkeys(match[1] or match[2] for match in _USED_FILE.finditer(text)))
