"""Read what a README says that its project is, past badges, lists and code; and what documents are called."""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from coderag.answering.evidence.cited_lines import CitedLines
from coderag.answering.evidence.index_reader import IndexReader

_MOST_PARAGRAPHS = 2
_LEAST_WORDS = 8  # of a paragraph; shorter ones are slogans and badges
_LONGEST = 700  # characters of a paragraph
_README: Final = re.compile(r"readme(?:\.\w+)?$", re.IGNORECASE)
_TELLS_WHAT: Final = re.compile(r"^\W*(?:what\s+is|about|overview|introduction|summary|description)\b", re.IGNORECASE)
_HEADING: Final = re.compile(r"^\s*#+\s+(.*)$")
_UNDERLINE: Final = re.compile(r"^\s*(?:={3,}|-{3,}|~{3,})\s*$")
_FENCE: Final = re.compile(r"^\s*(?:```|~~~)")
_NO_PROSE: Final = re.compile(r"^\s*(?:[|>]|\.\.\s|[-*+]\s|\d+[.)]\s|\[[^\]]+\]:|\s{4})")
_IMAGE: Final = re.compile(r"!\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\])")
_LINK: Final = re.compile(r"\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])")
_HTML: Final = re.compile(r"<[^>]*>")
_EMPHASIS: Final = re.compile(r"\*\*|(?<!\w)[_*]{1,2}(?=\w)|(?<=\w)[_*]{1,2}(?!\w)")
_WORD: Final = re.compile(r"[^\W\d_]{2,}")


class Paragraph(NamedTuple):
    """Some sentences of a document without their markup, with the heading above them."""

    text: str
    heading: str
    lines: CitedLines


def said_of_itself(index: IndexReader) -> Sequence[Paragraph]:
    """Return what the README says that the project is: the paragraphs under a heading that promises it, else the first."""
    readme = min((path for path in index.corpus.paths if _README.match(path)), key=len, default="")
    paragraphs = list(_paragraphs(index, readme)) if readme else []
    start = next((number for number, one in enumerate(paragraphs) if _TELLS_WHAT.match(one.heading)), 0)
    return paragraphs[start : start + _MOST_PARAGRAPHS]


def _paragraphs(index: IndexReader, path: str) -> Iterator[Paragraph]:
    """Yield the paragraphs of a document that are sentences: no lists, tables, code and badges."""
    lines = index.whole_file(path)
    heading, start, in_code = "", 0, False
    for number, line in enumerate([*lines, ""], 1):
        if _FENCE.match(line):
            in_code = not in_code
        titled = _HEADING.match(line)
        ends = in_code or not line.strip() or titled or _UNDERLINE.match(line) or _FENCE.match(line)
        if not ends:
            start = start or number
            continue
        if _UNDERLINE.match(line) and start:
            heading = lines[number - 2]
        elif start and (text := _sentences(lines[start - 1 : number - 1])):
            yield Paragraph(
                text, heading, CitedLines(path, start, number - 1, "\n".join(lines[start - 1 : number - 1]))
            )
        heading = titled[1] if titled else heading
        start = 0


def _sentences(lines: Sequence[str]) -> str:
    """Return lines as prose; empty if they are something else."""
    if _NO_PROSE.match(lines[0]):
        return ""
    text = _EMPHASIS.sub("", _HTML.sub("", _LINK.sub(r"\1", _IMAGE.sub("", " ".join(lines))))).strip()
    return text[:_LONGEST] if len(_WORD.findall(text)) >= _LEAST_WORDS else ""


def title_of(index: IndexReader, path: str) -> CitedLines | None:
    """Return the first line of a document that has words."""
    numbered = enumerate(index.whole_file(path), 1)
    return next(
        (CitedLines(path, number, number, line) for number, line in numbered if _WORD.search(_HTML.sub("", line))), None
    )
