"""Spans of a question that are no words of a human language: names, paths, quotes and code.

Each is replaced with one character of the private use area, so that the rest can be translated around it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_FIRST_MARK: Final = 0xE000
_MAX_SPANS: Final = 1_000
MARK: Final = "[\ue000-\uf8ff]"
_MARKS: Final = re.compile(MARK)

_QUOTES: Final = (
    r"\"[^\"\n]{1,200}\"|(?<!\w)'[^'\n]{2,200}'(?!\w)|„[^„“”\n]{1,200}[“”]|“[^“”\n]{1,200}”|«[^«»\n]{1,200}»"
    r"|「[^「」\n]{1,200}」|『[^『』\n]{1,200}』|《[^《》\n]{1,200}》"
)
_SPANS: Final = re.compile(
    rf"```.*?```|`[^`\n]{{1,200}}`|{_QUOTES}"
    r"|https?://[!-~]{1,300}"
    r"|(?:[A-Za-z0-9_.@~+-]{1,80}/){1,20}[A-Za-z0-9_.@+-]{0,80}[A-Za-z0-9_](?::\d+)?"  # paths
    r"|(?<![A-Za-z0-9_])--?[a-z][\w-]{1,60}"  # options
    r"|[A-Za-z_$][A-Za-z0-9_$]*(?:(?:\.|::|->|\#)[A-Za-z_$][A-Za-z0-9_$]*)+(?:\(\)|:\d+)?"  # qualified names, files
    r"|[A-Za-z_$][A-Za-z0-9_$]*\(\)"
    r"|[A-Za-z0-9]*_[A-Za-z0-9_]*[A-Za-z0-9]"
    r"|[A-Z]?[a-z0-9]+(?:[A-Z][A-Za-z0-9]*)+|[A-Z]{2,}[a-z][A-Za-z0-9]*",
    re.DOTALL | re.ASCII,
)
_LATIN: Final = re.compile(r"[A-Za-z][A-Za-z0-9_+#.-]*[A-Za-z0-9_+#]|[A-Za-z]", re.ASCII)
_OPENING: Final = "\"'„“«「『《"


@dataclass(frozen=True, slots=True)
class ProtectedText:
    """Text with a private-use character in place of each span; ``spans`` are in their order."""

    text: str
    spans: Sequence[str]

    def restore(self, text: str) -> str:
        """Replace the marks in a part of the text with their spans."""
        return _MARKS.sub(lambda mark: self.get_span(mark[0]), text)

    def get_span(self, mark: str) -> str:
        """Return the span that a mark stands for; one that the question had itself stands for nothing."""
        position = ord(mark) - _FIRST_MARK
        return self.spans[position] if position < len(self.spans) else " "


def protect_spans(query: str, *, has_other_script: bool = False) -> ProtectedText:
    """Replace names, paths, quotes and code with marks.

    Args:
        query: The question.
        has_other_script: Whether its language has other letters, so that every word in Latin letters is a name.
    """
    spans: list[str] = []

    def mark(match: re.Match[str]) -> str:
        if len(spans) >= _MAX_SPANS:
            return match[0]
        span = match[0]
        spans.append(f'"{span[1:-1]}"' if span[0] in _OPENING else span)
        return f" {chr(_FIRST_MARK + len(spans) - 1)} "

    text = _SPANS.sub(mark, _MARKS.sub(" ", query))
    if has_other_script:
        text = _LATIN.sub(mark, text)
    return ProtectedText(text, spans)
