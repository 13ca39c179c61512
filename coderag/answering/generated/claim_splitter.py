"""Incremental splitter of a Markdown reply into claims: sentences, list entries, table rows, code blocks.

The units do not depend on how the reply is chunked, and joined they are the reply. A unit is returned as soon as no
later text can change its end.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from coderag.answering.generated.markdown_lines import (
    FENCE,
    LIST_MARKER,
    TABLE_DELIMITER,
    LineKind,
    classify_line,
    split_prefix,
)
from coderag.answering.generated.sentences import SentenceScanner

ReplyUnitKind = Literal["prose", "heading", "table", "row", "code", "rule"]

_WRAPPING_FENCE = re.compile(r"\s*(`{3,}|~{3,})[ \t]*(?:markdown|md)[ \t]*\n", re.IGNORECASE)
_PARTIAL_WRAPPING_FENCE = re.compile(r"\s*+(?:`*+|~*+)[ \t]*+\w{0,8}[ \t]*+")


@dataclass(frozen=True, slots=True)
class ReplyUnit:
    """Unit of a reply.

    Attributes:
        kind: ``table`` is a table's head with its delimiter row; ``code`` a block with its fences; ``rule`` a line.
        text: Text as written.
        lead: White space before it.
        marker: List, heading or quotation marker, with its indentation.
        starts_block: Whether it starts a paragraph or other block; further sentences do not.
    """

    kind: ReplyUnitKind
    text: str
    lead: str = ""
    marker: str = ""
    starts_block: bool = True

    @property
    def markdown(self) -> str:
        """Markdown of the unit, with its lead and marker."""
        return f"{self.lead}{self.marker}{self.text}"


class ClaimSplitter:
    """Splitter of one reply."""

    def __init__(self) -> None:
        self._text = ""  # unparsed
        self._gap = ""  # white space after parsed text
        self._has_begun = False
        self._wrapping_fence = ""  # some models fence the whole reply
        self._paragraph: _Paragraph | None = None
        self._is_line_open = False  # whether the paragraph's line is incomplete
        self._block: _CodeBlock | None = None
        self._in_table = False
        self._in_list = False

    def feed(self, delta: str) -> list[ReplyUnit]:
        """Feed the next part of the reply; return the units that it completes."""
        self._text += delta.replace("\r", "")
        return list(self._parse(last=False))

    def close(self) -> list[ReplyUnit]:
        """Return the remaining units at the end of the reply."""
        return [*self._parse(last=True), *self._end_block(), *self._end_paragraph()]

    @property
    def pending(self) -> str:
        """Text that is not returned yet, as written."""
        block = self._block.lead + self._block.text if self._block else ""
        return f"{block}{self._paragraph.remainder if self._paragraph else ''}{self._gap}{self._text}"

    def _parse(self, *, last: bool) -> Iterator[ReplyUnit]:
        if not self._has_begun and not self._begin(last=last):
            return
        while self._text:
            if self._is_line_open:
                yield from self._take_prose()
                continue
            line, newline, remaining = self._text.partition("\n")
            complete = bool(newline) or last
            if self._block and self._block.fence:
                if not complete:
                    return
                yield from self._take_code(line, newline)
                continue
            may_be_code = not self._in_list and self._paragraph is None
            kind = classify_line(line, complete=complete, may_be_code=may_be_code)
            if kind == "unknown" or (
                kind == "table" and not self._in_table and not _is_table_decided(remaining, last=last)
            ):
                return
            yield from self._take_line(kind, line, newline)

    def _begin(self, *, last: bool) -> bool:
        """Strip a fence around the whole reply; return whether its presence is decided."""
        if match := _WRAPPING_FENCE.match(self._text):
            self._wrapping_fence, self._text = match[1], self._text[match.end() :]
        elif not last and _PARTIAL_WRAPPING_FENCE.fullmatch(self._text):
            return False
        self._has_begun = True
        return True

    def _take_line(self, kind: LineKind, line: str, newline: str) -> Iterator[ReplyUnit]:
        prefix, content = split_prefix(line)
        quoted = prefix.count(">")
        if kind == "prose" and self._paragraph and quoted in (0, self._paragraph.quoted):
            self._paragraph.add(self._gap + prefix)
            self._gap, self._text, self._is_line_open = "", self._text[len(prefix) :], True
            return
        yield from self._end_paragraph()
        if kind not in ("indented", "blank"):
            yield from self._end_block()
        if kind == "blank" or (self._wrapping_fence and content.strip() == self._wrapping_fence):
            self._consume(line if kind == "blank" else "", newline, line)
            self._in_table = False
        elif kind in ("prose", "list"):
            self._begin_paragraph(kind, prefix, content)
        elif kind in ("fence", "indented"):
            self._begin_code(kind, line, newline)
        elif kind == "table":
            yield self._take_table_line(line, newline)
        else:
            self._in_list = False
            marker = "" if kind == "rule" else prefix + content[: len(content) - len(content.lstrip("# \t"))]
            yield self._take_unit("rule" if kind == "rule" else "heading", line, newline, marker)

    def _begin_paragraph(self, kind: LineKind, prefix: str, content: str) -> None:
        marker = LIST_MARKER.match(content) if kind == "list" else None
        self._in_list = marker is not None or (self._in_list and bool(prefix))
        self._in_table = False
        lead = prefix + (marker[0] if marker else "")
        self._paragraph = _Paragraph(self._gap, lead, prefix.count(">"))
        self._gap, self._text, self._is_line_open = "", self._text[len(lead) :], True

    def _take_prose(self) -> Iterator[ReplyUnit]:
        assert self._paragraph is not None
        line, newline, remaining = self._text.partition("\n")
        self._paragraph.add(line)
        self._text = remaining
        if newline:
            self._is_line_open, self._gap = False, newline
        yield from self._paragraph.split_units(last=False)

    def _end_paragraph(self) -> Iterator[ReplyUnit]:
        if self._paragraph:
            yield from self._paragraph.split_units(last=True)
            self._gap = self._paragraph.remainder + self._gap
            self._paragraph, self._is_line_open = None, False

    def _begin_code(self, kind: LineKind, line: str, newline: str) -> None:
        prefix, content = split_prefix(line)
        if self._block is None:
            opening = FENCE.search(content) if kind == "fence" else None
            self._block = _CodeBlock(self._gap, opening[1] if opening else "")
            if prefix == "" and kind == "fence":
                self._in_list = False
        else:  # indented code continues after blank lines
            self._block.text += self._gap
        self._gap, self._in_table = "", False
        self._block.text += line
        self._consume("", newline, line)

    def _take_code(self, line: str, newline: str) -> Iterator[ReplyUnit]:
        assert self._block is not None
        self._block.text += self._gap + line
        self._gap = ""
        self._consume("", newline, line)
        content = split_prefix(line)[1].rstrip()
        if content and not content.strip(self._block.fence[0]) and len(content) >= len(self._block.fence):
            yield from self._end_block()

    def _end_block(self) -> Iterator[ReplyUnit]:
        if self._block:
            yield ReplyUnit("code", self._block.text, self._block.lead)
            self._block = None

    def _take_table_line(self, line: str, newline: str) -> ReplyUnit:
        next_line = self._text[len(line) + len(newline) :].partition("\n")[0]
        if self._in_table or not newline or not TABLE_DELIMITER.fullmatch(next_line):
            self._in_table = True
            return self._take_unit("row", line, newline, "")
        self._in_table = True
        head = f"{line}\n{next_line}"
        return self._take_unit("table", head, "\n" if self._text.startswith(head + "\n") else "", "")

    def _take_unit(self, kind: ReplyUnitKind, line: str, newline: str, marker: str) -> ReplyUnit:
        """Consume whole lines and return them as a unit."""
        text = line[len(marker) :].rstrip()
        unit = ReplyUnit(kind, text, self._gap, marker)
        self._gap = ""
        self._consume(line[len(marker) + len(text) :], newline, line)
        return unit

    def _consume(self, blank: str, newline: str, line: str) -> None:
        """Consume a line; its white space is kept as the next lead."""
        self._text = self._text[len(line) + len(newline) :]
        self._gap += blank + newline


class _Paragraph:
    def __init__(self, lead: str, marker: str, quoted: int) -> None:
        self.quoted = quoted
        self._lead, self._marker = lead, marker
        self._is_opened = False
        self._scanner = SentenceScanner()

    def add(self, text: str) -> None:
        self._scanner.feed(text)

    @property
    def remainder(self) -> str:
        return self._scanner.remainder if self._is_opened else self._lead + self._marker + self._scanner.remainder

    def split_units(self, *, last: bool) -> Iterator[ReplyUnit]:
        for lead, text in self._scanner.split_sentences(last=last):
            yield self._build_unit(lead, text)
        if last and not self._is_opened:  # an empty entry
            yield self._build_unit("", "")

    def _build_unit(self, lead: str, text: str) -> ReplyUnit:
        if self._is_opened:
            return ReplyUnit("prose", text, lead, starts_block=False)
        self._is_opened = True
        return ReplyUnit("prose", lead + text, self._lead, self._marker)


@dataclass(slots=True)
class _CodeBlock:
    """Code block; without a fence it is indented."""

    lead: str
    fence: str
    text: str = ""


def _is_table_decided(remaining: str, *, last: bool) -> bool:
    """Return whether the text below decides if a line is the head of a table."""
    return last or "\n" in remaining or remaining.lstrip(" \t>")[:1] not in ("", "|", ":", "-")
