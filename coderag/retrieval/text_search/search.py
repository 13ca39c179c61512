"""Search for literals and regular expressions in the indexed files on disk.

The index provides the files and their declarations; contents are read from disk, so matches are never stale. Reading
all files takes about as long as finding out which could be skipped. A file is decoded and searched only if its bytes
contain a literal that every match requires.
"""

import time
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, islice
from pathlib import Path, PurePosixPath
from typing import Final

from coderag.errors import InvalidQueryError, RetrievalError
from coderag.retrieval.filters import NO_FILTERS
from coderag.retrieval.text_search.file_declarations import FileDeclarations, find_enclosing
from coderag.retrieval.text_search.file_filter import filter_records
from coderag.retrieval.text_search.live_files import LiveFile, read_live_file
from coderag.retrieval.text_search.text_pattern import (
    TextPattern,
    compile_literal,
    compile_regex,
    compile_spaced_literal,
    find_matches,
    split_words,
    starts_with_word,
)
from coderag.schema.chunks import FileRecord, SymbolRecord
from coderag.schema.query import FilterValues
from coderag.schema.text_matches import MAX_COUNTED_MATCHES, TextMatch, TextMatches, TextMode
from coderag.stores.protocols import IndexSnapshot
from coderag.text.composition import ComposedText

MAX_QUERY_CHARS: Final = 100_000
"""Maximum length of the text or pattern."""

DEFAULT_TIMEOUT_S: Final = 10.0

_ROLE_RANKS = {
    role: rank for rank, role in enumerate(("source", "config", "docs", "example", "test", "generated", "vendored"))
}
_NON_CODE_KINDS = frozenset({"key", "rule", "section"})
_PRE_NAME_PREFIXES = ("@", "#", "[", "//", "/*", "*", "--", '"""')
"""Prefixes of lines before a declaration's name: decorators, attributes, comments."""

_MAX_HEAD_LINES = 20
"""Lines of a declaration that may contain its name, including decorators."""

_MAX_DISTINCT_TEXTS = 8
_MAX_RANKED_MATCHES = 10_000
"""Up to so many matches, files with definitions come first."""


@dataclass(frozen=True)
class _FileMatches:
    """Matches in one file, as offsets into its text."""

    file: LiveFile
    text: str
    spans: list[tuple[int, int]]
    file_declarations: FileDeclarations

    @cached_property
    def declarations(self) -> list[SymbolRecord]:
        """Declarations of the file; empty if it has changed since it was indexed."""
        return [] if self.file.is_changed else self.file_declarations.get_declarations(self.file.record.path)

    @cached_property
    def line_starts(self) -> list[int]:
        return [0, *accumulate(map((1).__add__, map(len, self.text.split("\n"))))]

    def find_line_number(self, offset: int) -> int:
        """Return the 1-based line of an offset."""
        return bisect_right(self.line_starts, offset)

    def get_lines(self, first: int, last: int) -> list[str]:
        """Return existing lines of a range; both ends are included."""
        first, last = max(first, 1), min(last, len(self.line_starts) - 1)
        if last < first:
            return []
        return self.text[self.line_starts[first - 1] : self.line_starts[last] - 1].split("\n")

    @cached_property
    def defining_spans(self) -> frozenset[tuple[int, int]]:
        """Matches at the name of a declaration."""
        starts = [start for start, _ in self.spans]
        ends = [_find_outer_words(text) for text in {self.text[start:end] for start, end in self.spans}]
        spans = set()
        for declaration in self.declarations:
            name = declaration["name"]
            if declaration["kind"] in _NON_CODE_KINDS or not name:
                continue
            if not self._has_match_in_head(starts, declaration["start_line"]):
                continue
            if (
                name.isidentifier()
                and len(ends) <= _MAX_DISTINCT_TEXTS
                and not any(_can_overlap_name(*end, name) for end in ends)
            ):
                continue
            start, end = self._find_name_span(declaration)
            last = bisect_left(starts, end)
            if start < end and last and self.spans[last - 1][1] > start:
                spans.add(self.spans[last - 1])
        return frozenset(spans)

    def _has_match_in_head(self, starts: Sequence[int], line: int) -> bool:
        """Return whether a match is in the first lines of a declaration, which contain its name."""
        if line >= len(self.line_starts):
            return False
        begin, end = (
            self.line_starts[line - 1],
            self.line_starts[min(line - 1 + _MAX_HEAD_LINES, len(self.line_starts) - 1)],
        )
        last = bisect_left(starts, end)
        return last > 0 and self.spans[last - 1][1] > begin

    def _find_name_span(self, declaration: SymbolRecord) -> tuple[int, int]:
        """Find the span of a declaration's name; empty if it is not visible."""
        name = declaration["name"]
        first = declaration["start_line"]
        for line in range(first, min(declaration["end_line"] + 1, first + _MAX_HEAD_LINES, len(self.line_starts))):
            start, end = self.line_starts[line - 1], self.line_starts[line]
            if not self.text[start:end].lstrip().startswith(_PRE_NAME_PREFIXES):
                position = _find_word(self.text, name, start, end)
                return position, position + len(name) if position >= 0 else position
        return -1, -1


def _find_outer_words(text: str) -> tuple[str, str, str]:
    """Return a text with its first and last word."""
    words = split_words(text) or [""]
    return text, words[0], words[-1]


def _can_overlap_name(text: str, first_word: str, last_word: str, name: str) -> bool:
    """Return whether a match can overlap a name: one contains the other, or their ends meet."""
    return name in text or text in name or name.startswith(last_word) or name.endswith(first_word)


def _find_word(text: str, word: str, start: int, end: int) -> int:
    """Find a whole word in a text; -1 if it is absent."""
    while (start := text.find(word, start, end)) >= 0:
        if not (
            starts_with_word(text[start - 1 : start])
            or starts_with_word(text[start + len(word) : start + len(word) + 1])
        ):
            return start
        start += 1
    return -1


class TextSearch:
    """Text search over the files of one generation.

    Args:
        root: Folder of the repository.
        snapshot: The generation.
        max_file_bytes: Maximum size of a file that is read.
        timeout_s: Maximum duration of a search.
    """

    def __init__(
        self, root: Path, snapshot: IndexSnapshot, *, max_file_bytes: int, timeout_s: float = DEFAULT_TIMEOUT_S
    ) -> None:
        self._root = str(root)
        self._snapshot = snapshot
        self._max_file_bytes = max_file_bytes
        self._timeout_s = timeout_s

    @cached_property
    def _records(self) -> list[FileRecord]:
        records = [record for record in self._snapshot.read_files() if record.outcome == "indexed"]
        return sorted(records, key=lambda record: (_rank_role(record), record.path))

    @cached_property
    def _file_declarations(self) -> FileDeclarations:
        return FileDeclarations(self._snapshot)

    def find(
        self,
        text: str,
        mode: TextMode,
        *,
        ignore_case: bool = False,
        filters: FilterValues = NO_FILTERS,
        limit: int,
        context_lines: int = 0,
    ) -> TextMatches:
        """Find the matches of a text or regular expression.

        Args:
            text: Text or pattern.
            mode: Which of the two it is.
            ignore_case: Whether to ignore case.
            filters: Filters of files; kinds and complexity filter the declarations around a match.
            limit: Maximum number of returned matches; all are counted.
            context_lines: Number of lines around each match.

        Raises:
            InvalidQueryError: The text is empty or too long, the pattern is invalid, or nothing indexed has a
                filter's value.
            RetrievalError: The search timed out or ran out of memory.
        """
        if not text.strip("\r\n"):
            raise InvalidQueryError("the search text is empty")
        if len(text) > MAX_QUERY_CHARS:
            raise InvalidQueryError(f"the text has {len(text):,} characters; the maximum is {MAX_QUERY_CHARS:,}")
        records = filter_records(self._records, filters, self._read_text, self._snapshot.read_files)
        pattern = (compile_literal if mode == "exact" else compile_regex)(text, ignore_case=ignore_case)
        matching_files, unread, complete = self._search_records(records, pattern, filters)
        spaced_pattern = None
        if not matching_files and mode == "exact":
            spaced_pattern = compile_spaced_literal(text, ignore_case=ignore_case)
        if spaced_pattern:
            matching_files, unread, complete = self._search_records(records, spaced_pattern, filters)
        total = sum(len(file_matches.spans) for file_matches in matching_files)
        if total <= _MAX_RANKED_MATCHES:
            matching_files.sort(
                key=lambda file_matches: (_rank_role(file_matches.file.record), not file_matches.defining_spans)
            )
        return TextMatches(
            query=text,
            mode=mode,
            matches=list(_iter_matches(matching_files, limit, context_lines)),
            total=total,
            files={file_matches.file.record.path: len(file_matches.spans) for file_matches in matching_files},
            complete=complete,
            whitespace_ignored=bool(spaced_pattern and matching_files),
            stale=[file_matches.file.record.path for file_matches in matching_files if file_matches.file.is_changed],
            unread=unread,
        )

    def _read_text(self, record: FileRecord) -> str:
        """Read the current text of a file; empty if it cannot be read."""
        try:
            return read_live_file(self._root, record, self._max_file_bytes).decode_text()
        except OSError:
            return ""

    def _search_records(
        self, records: Sequence[FileRecord], pattern: TextPattern, filters: FilterValues
    ) -> tuple[list[_FileMatches], list[tuple[str, str]], bool]:
        """Return the files with matches, unreadable files with reasons, and whether all matches were counted."""
        deadline = time.monotonic() + self._timeout_s
        matching_files: list[_FileMatches] = []
        unread: list[tuple[str, str]] = []
        remaining = MAX_COUNTED_MATCHES
        for record in records:
            try:
                file = read_live_file(self._root, record, self._max_file_bytes)
            except OSError as error:
                unread.append((record.path, (error.strerror or str(error)).lower()))
                continue
            if not pattern.can_match_file(file):
                continue
            text = file.decode_text()
            text = text if pattern.keeps_line_ends else text.replace("\r\n", "\n")
            spans = list(_iter_spans(pattern, text, remaining, lambda: deadline - time.monotonic(), record.path))
            if spans:
                file_matches = _FileMatches(file, text, spans, self._file_declarations)
                if filters["kinds"] or filters.get("complexity"):
                    file_matches.spans[:] = [
                        span for span in spans if self._passes_filters(file_matches, span, filters)
                    ]
                if file_matches.spans:
                    matching_files.append(file_matches)
                remaining -= len(file_matches.spans)
            if remaining <= 0:
                return matching_files, unread, False
        return matching_files, unread, True

    def _passes_filters(self, file_matches: _FileMatches, span: tuple[int, int], filters: FilterValues) -> bool:
        """Return whether the declarations around a match have the wanted kinds and complexity."""
        line = file_matches.find_line_number(span[0])
        kinds, bounds = filters["kinds"], filters.get("complexity")
        if kinds and not any(
            declaration["kind"] in kinds for declaration in find_enclosing(file_matches.declarations, line)
        ):
            return False
        if not bounds:
            return True
        complexity = (
            0
            if file_matches.file.is_changed
            else self._file_declarations.get_complexity(file_matches.file.record.path, line)
        )
        return bounds[0] <= complexity <= (bounds[1] if len(bounds) > 1 else complexity)


def _rank_role(record: FileRecord) -> int:
    return _ROLE_RANKS.get(record.role, len(_ROLE_RANKS))


def _iter_spans(
    pattern: TextPattern, text: str, limit: int, seconds_left: Callable[[], float], path: str
) -> Iterator[tuple[int, int]]:
    """Yield the first matches in a file's text.

    Raises:
        RetrievalError: The search timed out or ran out of memory.
    """
    seconds = seconds_left()
    try:
        if seconds <= 0:
            raise TimeoutError
        yield from islice(_find_composed_matches(pattern, text, seconds), limit)
    except TimeoutError as error:
        hint = "Simplify the pattern (no nested repetition), add a literal word, or limit the files with --path."
        raise RetrievalError(f"the search timed out in {path}", hint=hint) from error
    except (MemoryError, RecursionError) as error:
        hint = "Simplify the pattern: no recursion such as (?R), and no nested repetition."
        raise RetrievalError(f"the search ran out of memory in {path}", hint=hint) from error


def _find_composed_matches(pattern: TextPattern, text: str, seconds: float) -> Iterator[tuple[int, int]]:
    """Yield the matches in a text whose characters may be decomposed, as spans of the text as it is."""
    if text.isascii() or unicodedata.is_normalized("NFC", text):
        yield from find_matches(pattern, text, seconds)
        return
    composed = ComposedText(text)
    spans = {composed.find_original_span(*span) for span in find_matches(pattern, composed.text, seconds)}
    yield from sorted(spans or find_matches(pattern, text, seconds))  # the pattern may name a single accent


def _iter_matches(matching_files: Sequence[_FileMatches], limit: int, context_lines: int) -> Iterator[TextMatch]:
    """Yield the first matches with their metadata."""
    for file_matches in matching_files:
        for span in file_matches.spans[: max(limit, 0)]:
            yield _build_match(file_matches, span, context_lines)
        limit -= len(file_matches.spans)
        if limit <= 0:
            return


def _build_match(file_matches: _FileMatches, span: tuple[int, int], context_lines: int) -> TextMatch:
    start, end = span
    first, last = file_matches.find_line_number(start), file_matches.find_line_number(max(end - 1, start))
    enclosing = find_enclosing(file_matches.declarations, first)
    return TextMatch(
        path=PurePosixPath(file_matches.file.record.path),
        start_line=first,
        start_column=start - file_matches.line_starts[first - 1] + 1,
        end_line=last,
        end_column=end - file_matches.line_starts[last - 1] + 1,
        text="\n".join(file_matches.get_lines(first, last)),
        before=file_matches.get_lines(first - context_lines, first - 1),
        after=file_matches.get_lines(last + 1, last + context_lines),
        symbol=enclosing[-1]["qualified_name"] if enclosing else "",
        kind=enclosing[-1]["kind"] if enclosing else "",
        definition=span in file_matches.defining_spans,
        language=file_matches.file.record.language,
        role=file_matches.file.record.role,
    )
