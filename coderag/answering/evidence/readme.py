"""Prose of documents past badges, lists and code: what a README says of its project, and titles."""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from coderag.answering.evidence.cited_lines import CitedLines
from coderag.answering.evidence.index_reader import IndexReader

_MIN_WORDS = 8  # of a paragraph; shorter ones are slogans and badges
_MAX_PARAGRAPH_CHARS = 700  # characters of a paragraph
_README: Final = re.compile(r"readme(?:\.\w+)?$", re.IGNORECASE)
_DESCRIBES: Final = re.compile(r"^\W*(?:what\s+is|about|overview|introduction|summary|description)\b", re.IGNORECASE)
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


def find_description(reader: IndexReader, folder: str = "") -> Paragraph | None:
    """Find what the README of a folder says that it is: the paragraph under a heading that promises it, else the first.

    Args:
        reader: The open index.
        folder: With its slash; empty for the repository.
    """
    inside = [path for path in reader.corpus.paths if path.startswith(folder) and _README.match(path[len(folder) :])]
    readme = min(inside, key=len, default="")
    paragraphs = list(_iter_paragraphs(reader, readme)) if readme else []
    described = (paragraph for paragraph in paragraphs if _DESCRIBES.match(paragraph.heading))
    return next(described, paragraphs[0] if paragraphs else None)


def _iter_paragraphs(reader: IndexReader, path: str) -> Iterator[Paragraph]:
    """Yield the paragraphs of a document that are sentences: no lists, tables, code and badges."""
    lines = reader.read_file_lines(path)
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
        elif start and (text := _read_prose(lines[start - 1 : number - 1])):
            yield Paragraph(
                text, heading, CitedLines(path, start, number - 1, "\n".join(lines[start - 1 : number - 1]))
            )
        heading = titled[1] if titled else heading
        start = 0


def _read_prose(lines: Sequence[str]) -> str:
    """Return lines as prose; empty if they are something else."""
    if _NO_PROSE.match(lines[0]):
        return ""
    text = _EMPHASIS.sub("", _HTML.sub("", _LINK.sub(r"\1", _IMAGE.sub("", " ".join(lines))))).strip()
    return text[:_MAX_PARAGRAPH_CHARS] if len(_WORD.findall(text)) >= _MIN_WORDS else ""


def find_title(reader: IndexReader, path: str) -> CitedLines | None:
    """Find the first line of a document that has words."""
    numbered = enumerate(reader.read_file_lines(path), 1)
    return next(
        (CitedLines(path, number, number, line) for number, line in numbered if _WORD.search(_HTML.sub("", line))), None
    )
