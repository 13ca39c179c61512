"""Sections of documents by heading: Markdown, reStructuredText and AsciiDoc."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from coderag.ingestion.parsing.spans import Span
from coderag.ingestion.parsing.splitting import find_lines_after_blank, split_lines
from coderag.schema.chunks import SymbolRecord
from coderag.text.token_counts import estimate_tokens, is_over_limit

SEPARATOR = " > "
"""Separates the headings in a section's qualified name."""

_FENCE = re.compile(rb"^ {0,3}(`{3,}|~{3,})")
_ATX = re.compile(rb"^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*\r?$")
_SETEXT = re.compile(rb"^ {0,3}(=+|-+)[ \t]*\r?$")
_RST_RULE = re.compile(rb"^([=\-`:.'\"~^_*+#<>!$%&(),/;?@\[\]\\{|}])\1{2,}[ \t]*\r?$")
_ADOC_HEADING = re.compile(rb"^(={1,6}|#{1,6})[ \t]+(\S.*?)(?:[ \t]+\1)?$")
_ADOC_DELIMITER = re.compile(rb"^(?:-{4,}|\.{4,}|={4,}|\*{4,}|_{4,}|\+{4,}|/{4,}|--|```.*|[|,:!]={3,})$")
_FENCED = b"```"
_ADOC_UNDERLINE = re.compile(rb"^(?:~{3,}|\^{3,}|={3}|-{3}|\+{3})$")
_ADOC_UNDERLINES = b"=-~^+"  # of two-line titles, by level
_ADOC_ATTRIBUTES = re.compile(rb"^\[.*\]$")
_ADOC_DISCRETE = re.compile(rb"^\[(?:discrete|float)\b")
_ADOC_INLINE = re.compile(r"\[\[[^\]]*\]\]|[*`]")
_FRONT_MATTER = b"---"
_BADGE = re.compile(
    r"\[!\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\])\](?:\([^)]*\)|\[[^\]]*\])|!\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\])"
)
"""An image, or a link around one; it has no text to read."""
_INLINE = re.compile(r"[*`]|\[([^\]]*)\]\([^)]*\)|!\[[^\]]*\]\([^)]*\)|<[^>]+>|\{#[\w-]+\}")


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading: its first line (0-based), its level (1 is the highest) and its text."""

    line: int
    level: int
    title: str


def find_markdown_headings(lines: Sequence[bytes]) -> Iterator[Heading]:
    """Yield the headings of a Markdown text outside fenced code."""
    fence = b""
    first = _skip_front_matter(lines)
    for number in range(first, len(lines)):
        line = lines[number]
        if marks := _FENCE.match(line):
            if not fence:
                fence = marks[1]
            elif marks[1].startswith(fence) and not line.strip().strip(fence[:1]):
                fence = b""
        elif fence:
            continue
        elif heading := _ATX.match(line):
            yield Heading(number, len(heading[1]), _clean_title(heading[2] or b""))
        elif number > first and (rule := _SETEXT.match(line)) and _is_paragraph(lines, number - 1):
            yield Heading(number - 1, 1 if rule[1].startswith(b"=") else 2, _clean_title(lines[number - 1]))


def _is_paragraph(lines: Sequence[bytes], number: int) -> bool:
    """Return whether a line can be the text of an underlined heading: a single line, not a list, table or quote."""
    line = lines[number]
    text = line.lstrip()
    if not text or len(line) - len(text) > 3 or text[:1] in b"#>|-+*=" or _FENCE.match(line):
        return False
    return number == 0 or not lines[number - 1].strip()


def _skip_front_matter(lines: Sequence[bytes]) -> int:
    if lines and lines[0].rstrip() == _FRONT_MATTER:
        for number in range(1, len(lines)):
            if lines[number].rstrip() == _FRONT_MATTER:
                return number + 1
    return 0


def find_rst_headings(lines: Sequence[bytes]) -> Iterator[Heading]:
    """Yield the headings of a reStructuredText. Levels are numbered in order of first use of their underline."""
    levels: dict[tuple[bytes, bool], int] = {}
    number = 1
    while number < len(lines):
        rule = _RST_RULE.match(lines[number])
        text = lines[number - 1]
        if (
            rule
            and text.strip()
            and not text[:1].isspace()
            and not _RST_RULE.match(text)
            and len(lines[number].rstrip()) >= len(text.rstrip()) * 0.8
        ):
            overlined = number >= 2 and bool(_RST_RULE.match(lines[number - 2])) and lines[number - 2][:1] == rule[1]
            if overlined or number < 2 or not lines[number - 2].strip():
                level = levels.setdefault((rule[1], overlined), len(levels) + 1)
                yield Heading(number - 2 if overlined else number - 1, level, _clean_title(text))
        number += 1


def find_asciidoc_headings(lines: Sequence[bytes]) -> Iterator[Heading]:
    """Yield the headings of an AsciiDoc text outside delimited blocks. Anchors and attributes above belong to them."""
    delimiter = b""
    first_above = -1  # first of the attribute or anchor lines just above
    for number, line in enumerate(lines):
        text = line.rstrip()
        if delimiter:
            delimiter = b"" if text == delimiter else delimiter
            continue
        if _ADOC_ATTRIBUTES.match(text):
            first_above = number if first_above < 0 else first_above
            continue
        first = number if first_above < 0 else first_above
        is_discrete = first_above >= 0 and any(
            _ADOC_DISCRETE.match(attribute_line) for attribute_line in lines[first_above:number]
        )
        first_above = -1
        if heading := _ADOC_HEADING.match(text):
            if not is_discrete:
                yield Heading(first, len(heading[1]), _clean_adoc_title(heading[2]))
        elif _ADOC_DELIMITER.match(text):
            if _is_adoc_title(lines, number):
                level = _ADOC_UNDERLINES.index(text[:1]) + 1
                yield Heading(number - 1, level, _clean_adoc_title(lines[number - 1]))
            else:
                delimiter = _FENCED if text.startswith(_FENCED) else text
        elif _ADOC_UNDERLINE.match(text) and _is_adoc_title(lines, number):
            yield Heading(number - 1, _ADOC_UNDERLINES.index(text[:1]) + 1, _clean_adoc_title(lines[number - 1]))


def _is_adoc_title(lines: Sequence[bytes], number: int) -> bool:
    """Return whether the previous line is a title that this line underlines: of equal length, below a blank line."""
    rule, title = lines[number].rstrip(), lines[number - 1].rstrip() if number else b""
    if rule[:1] not in _ADOC_UNDERLINES or not re.match(rb"\w", title):
        return False
    length = len(title.decode("utf-8", "replace"))
    return abs(length - len(rule)) <= 1 and (number < 2 or not lines[number - 2].strip())


def _clean_adoc_title(text: bytes) -> str:
    return " ".join(_ADOC_INLINE.sub("", text.decode("utf-8", "replace")).split())


def _clean_title(text: bytes) -> str:
    visible = _BADGE.sub("", text.decode("utf-8", "replace"))
    return " ".join(_INLINE.sub(r"\1", visible).split())


_HEADING_FINDERS: dict[str, Callable[[Sequence[bytes]], Iterator[Heading]]] = {
    "markdown": find_markdown_headings,
    "rst": find_rst_headings,
    "asciidoc": find_asciidoc_headings,
}

DOCUMENT_LANGUAGES: Final = frozenset(_HEADING_FINDERS)
"""Document languages with headings."""


def lay_out_sections(
    data: bytes, starts: Sequence[int], language: str, *, max_tokens: int, min_tokens: int
) -> list[Span]:
    """Lay out a document by sections: tiny sections are merged, large ones are split at paragraphs.

    Args:
        language: One of `DOCUMENT_LANGUAGES`.
    """
    sections = _read_sections(data, starts, language)
    return _lay_out_spans(data, starts, sections, max_tokens, min_tokens)


def lay_out_section_range(
    data: bytes,
    starts: Sequence[int],
    sections: Sequence["Section"],
    line_range: tuple[int, int],
    *,
    max_tokens: int,
    min_tokens: int,
) -> list[Span]:
    """Lay out the sections, or parts of sections, within a line range ``[first, last)`` (0-based) of a document.

    Args:
        sections: All sections of the document, see `build_sections`.
    """
    begin, end = line_range
    low = max(0, bisect_right(sections, begin, key=lambda section: section[0]) - 1)
    high = bisect_left(sections, end, key=lambda section: section[0])
    clipped = [
        (max(first, begin), min(last, end), path, members if first >= begin else [])
        for first, last, path, members in sections[low:high]
        if last > begin
    ]
    return _lay_out_spans(data, starts, clipped, max_tokens, min_tokens)


def _lay_out_spans(
    data: bytes, starts: Sequence[int], sections: Sequence["Section"], max_tokens: int, min_tokens: int
) -> list[Span]:
    spans: list[Span] = []
    for first, last, path, members in _merge_sections(data, starts, sections, max_tokens, min_tokens):
        span = Span(starts[first], starts[last], "section")
        if path:
            span.name, span.qualified_name = path[-1], SEPARATOR.join(path)
            span.parent = span.context = SEPARATOR.join(path[:-1])
            span.signature = path[-1]
        span.symbols = members
        if not is_over_limit(data[span.start : span.end], max_tokens):
            spans.append(span)
            continue
        cuts = find_lines_after_blank(data, starts, first, last)
        for start, end in split_lines(data, starts, first, last, cuts=cuts, max_tokens=max_tokens):
            symbols = [symbol for symbol in span.symbols if start <= starts[symbol["start_line"] - 1] < end]
            spans.append(replace(span, start=start, end=end, symbols=symbols))
    return spans


def list_section_symbols(data: bytes, starts: Sequence[int], language: str) -> list[SymbolRecord]:
    """Return a document's sections as symbols, in order; each ends where the next begins."""
    return [symbol for *_, members in _read_sections(data, starts, language) for symbol in members]


def _make_symbol(path: tuple[str, ...], first: int, last: int) -> SymbolRecord:
    return {
        "name": path[-1],
        "qualified_name": SEPARATOR.join(path),
        "kind": "section",
        "start_line": first + 1,
        "end_line": last,
    }


Section = tuple[int, int, tuple[str, ...], list[SymbolRecord]]
"""First line, line after the last, headings from the top, and the symbols of a section."""


def _read_sections(data: bytes, starts: Sequence[int], language: str) -> list[Section]:
    last = len(starts) - 1
    return build_sections(list(_HEADING_FINDERS[language](data.split(b"\n")[:last])), last)


def build_sections(headings: Sequence[Heading], last: int) -> list[Section]:
    """Build the sections of a document from its headings, with the text above the first, in order."""
    sections: list[Section] = []
    if not headings or headings[0].line > 0:
        sections.append((0, headings[0].line if headings else last, (), []))
    path: list[Heading] = []
    for index, heading in enumerate(headings):
        while path and path[-1].level >= heading.level:
            path.pop()
        path.append(heading)
        end = headings[index + 1].line if index + 1 < len(headings) else last
        titles = tuple(ancestor.title for ancestor in path)
        sections.append((heading.line, end, titles, [_make_symbol(titles, heading.line, end)]))
    return sections


def _merge_sections(
    data: bytes, starts: Sequence[int], sections: Sequence[Section], max_tokens: int, min_tokens: int
) -> list[Section]:
    """Merge a tiny section with the next one if that is a subsection or sibling."""
    merged: list[Section] = []
    merged_tokens = 0
    for first, last, path, members in sections:
        tokens = estimate_tokens(data[starts[first] : starts[last]])
        if merged:
            previous = merged[-1]
            is_subsection = path[: len(previous[2])] == previous[2]
            is_small_sibling = tokens < min_tokens and path[:-1] == previous[2][:-1]
            if (
                merged_tokens < min_tokens
                and (is_subsection or is_small_sibling)
                and merged_tokens + tokens <= max_tokens
            ):
                merged[-1] = (previous[0], last, previous[2], [*previous[3], *members])
                merged_tokens += tokens
                continue
        merged.append((first, last, path, members))
        merged_tokens = tokens
    return merged
