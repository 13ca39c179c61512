"""Find exact text and regular expressions in the indexed files as they are on disk now.

The index says which files there are and what they declare; what stands in them is read anew, so that no match is stale.
Reading all files takes about as long as finding out which of them need not be read. A file is decoded and searched only
if its bytes have a text that a match must contain.
"""

import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, islice
from pathlib import Path, PurePosixPath
from typing import Final

from coderag.errors import InvalidQueryError, RetrievalError
from coderag.retrieval.declared_lines import DeclaredLines, around
from coderag.retrieval.filters import NO_FILTERS, check_present, path_matcher
from coderag.retrieval.live_files import LiveFile, read_live
from coderag.retrieval.needles import Needle, exact_needle, is_word, places, regex_needle, spaced_needle, words_of
from coderag.retrieval.text_matches import MOST_COUNTED, TextMatch, TextMatches, TextMode
from coderag.schema.chunks import FileRecord, SymbolRecord
from coderag.schema.query import FilterValues
from coderag.stores.protocols import IndexSnapshot

LONGEST_QUERY: Final = 100_000
"""Characters of the text or pattern."""

TIME_LIMIT_S: Final = 10.0

_ROLES = {
    role: rank for rank, role in enumerate(("source", "config", "docs", "example", "test", "generated", "vendored"))
}
_NO_CODE = frozenset({"key", "rule", "section"})
_NOT_THE_NAME_YET = ("@", "#", "[", "//", "/*", "*", "--", '"""')
"""What lines of a declaration begin with that stand before its name: decorators, attributes, comments."""

_HEAD_LINES = 20
"""Lines of a declaration in which its name is looked for; decorators may take some."""

_FEW_TEXTS = 8
_MOST_JUDGED = 10_000
"""Matches up to which files with definitions come first; of more, nobody looks for one."""


@dataclass(frozen=True)
class _Found:
    """The matches of one file, as offsets into its text."""

    file: LiveFile
    text: str
    spans: list[tuple[int, int]]
    declared: DeclaredLines

    @cached_property
    def declarations(self) -> list[SymbolRecord]:
        """What the file declares; nothing if its lines are no longer those that were indexed."""
        return [] if self.file.changed else self.declared.of(self.file.record.path)

    @cached_property
    def line_starts(self) -> list[int]:
        return [0, *accumulate(map((1).__add__, map(len, self.text.split("\n"))))]

    def line_of(self, offset: int) -> int:
        """Return the 1-based line of an offset."""
        return bisect_right(self.line_starts, offset)

    def lines(self, first: int, last: int) -> list[str]:
        """Return some lines, those that there are; both ends are included."""
        first, last = max(first, 1), min(last, len(self.line_starts) - 1)
        if last < first:
            return []
        return self.text[self.line_starts[first - 1] : self.line_starts[last] - 1].split("\n")

    @cached_property
    def defining(self) -> frozenset[tuple[int, int]]:
        """The matches that are at the name of a declaration."""
        starts = [start for start, _ in self.spans]
        ends = [_outer_words(text) for text in {self.text[start:end] for start, end in self.spans}]
        defining = set()
        for declaration in self.declarations:
            name = declaration["name"]
            if declaration["kind"] in _NO_CODE or not name:
                continue
            if not self._matched_in_head(starts, declaration["start_line"]):
                continue
            if name.isidentifier() and len(ends) <= _FEW_TEXTS and not any(_may_meet(*end, name) for end in ends):
                continue
            start, end = self._place_of_name(declaration)
            last = bisect_left(starts, end)
            if start < end and last and self.spans[last - 1][1] > start:
                defining.add(self.spans[last - 1])
        return frozenset(defining)

    def _matched_in_head(self, starts: Sequence[int], line: int) -> bool:
        """Whether a match is in the first lines of a declaration, in which its name is."""
        if line >= len(self.line_starts):
            return False
        begin, end = (
            self.line_starts[line - 1],
            self.line_starts[min(line - 1 + _HEAD_LINES, len(self.line_starts) - 1)],
        )
        last = bisect_left(starts, end)
        return last > 0 and self.spans[last - 1][1] > begin

    def _place_of_name(self, declaration: SymbolRecord) -> tuple[int, int]:
        """Return where the name of a declaration stands; an empty range if that is not seen."""
        name = declaration["name"]
        first = declaration["start_line"]
        for line in range(first, min(declaration["end_line"] + 1, first + _HEAD_LINES, len(self.line_starts))):
            start, end = self.line_starts[line - 1], self.line_starts[line]
            if not self.text[start:end].lstrip().startswith(_NOT_THE_NAME_YET):
                place = _find_word(self.text, name, start, end)
                return place, place + len(name) if place >= 0 else place
        return -1, -1


def _outer_words(text: str) -> tuple[str, str, str]:
    """Return a text with its first and its last word."""
    words = words_of(text) or [""]
    return text, words[0], words[-1]


def _may_meet(text: str, first_word: str, last_word: str, name: str) -> bool:
    """Whether a match may be at a name: it has all of it or a part, or ends in its beginning, or begins with its end."""
    return name in text or text in name or name.startswith(last_word) or name.endswith(first_word)


def _find_word(text: str, word: str, start: int, end: int) -> int:
    """Return where a word stands that is no part of a longer one; -1 if nowhere."""
    while (start := text.find(word, start, end)) >= 0:
        if not (is_word(text[start - 1 : start]) or is_word(text[start + len(word) : start + len(word) + 1])):
            return start
        start += 1
    return -1


class TextSearch:
    """Searches the files of one generation.

    Args:
        root: Folder of the repository.
        snapshot: The generation.
        max_file_bytes: Larger files are not read.
        time_limit_s: Seconds that one search may take.
    """

    def __init__(
        self, root: Path, snapshot: IndexSnapshot, *, max_file_bytes: int, time_limit_s: float = TIME_LIMIT_S
    ) -> None:
        self._root = str(root)
        self._snapshot = snapshot
        self._max_file_bytes = max_file_bytes
        self._time_limit_s = time_limit_s

    @cached_property
    def _records(self) -> list[FileRecord]:
        records = [record for record in self._snapshot.files() if record.outcome == "indexed"]
        return sorted(records, key=lambda record: (_rank(record), record.path))

    @cached_property
    def _declared(self) -> DeclaredLines:
        return DeclaredLines(self._snapshot)

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
        """Return where a text or a regular expression stands.

        Args:
            text: The text or the pattern.
            mode: Which of them it is.
            ignore_case: Whether ``a`` is ``A`` as well.
            filters: Which files; of kinds and complexity, which declarations around a match.
            limit: Number of matches, at most; all are counted.
            context_lines: Lines around each match.

        Raises:
            InvalidQueryError: The text is empty or too long, the pattern is none, or nothing indexed has a filter's value.
            RetrievalError: It takes too long.
        """
        if not text.strip("\r\n"):
            raise InvalidQueryError("there is no text to search for")
        if len(text) > LONGEST_QUERY:
            raise InvalidQueryError(f"the text has {len(text):,} characters; {LONGEST_QUERY:,} are the most")
        records = self._chosen(filters)
        needle = (exact_needle if mode == "exact" else regex_needle)(text, ignore_case=ignore_case)
        found, unread, complete = self._search(records, needle, filters)
        spaced = None
        if not found and mode == "exact":
            spaced = spaced_needle(text, ignore_case=ignore_case)
        if spaced:
            found, unread, complete = self._search(records, spaced, filters)
        total = sum(len(one.spans) for one in found)
        if total <= _MOST_JUDGED:
            found.sort(key=lambda one: (_rank(one.file.record), not one.defining))
        return TextMatches(
            query=text,
            mode=mode,
            matches=list(_first(found, limit, context_lines)),
            total=total,
            files={one.file.record.path: len(one.spans) for one in found},
            complete=complete,
            whitespace_ignored=bool(spaced and found),
            stale=[one.file.record.path for one in found if one.file.changed],
            unread=unread,
        )

    def _chosen(self, filters: FilterValues) -> list[FileRecord]:
        """Return the files that filters leave."""
        records = self._records
        for name, wanted in (("language", filters["languages"]), ("role", filters["roles"])):
            if wanted:
                check_present(name, wanted, {getattr(record, name) for record in self._records})
                records = [record for record in records if getattr(record, name) in wanted]
        if filters["paths"]:
            matches = path_matcher(tuple(filters["paths"]))
            records = [record for record in records if matches(record.path)]
        if (changed := filters.get("changed")) is not None:
            known = frozenset(changed)
            records = [record for record in records if record.path in known]
        return records

    def _search(
        self, records: Sequence[FileRecord], needle: Needle, filters: FilterValues
    ) -> tuple[list[_Found], list[tuple[str, str]], bool]:
        """Return the files with matches, those that could not be read with the reason, and whether all were counted."""
        deadline = time.monotonic() + self._time_limit_s
        found: list[_Found] = []
        unread: list[tuple[str, str]] = []
        left = MOST_COUNTED
        for record in records:
            try:
                file = read_live(self._root, record, self._max_file_bytes)
            except OSError as error:
                unread.append((record.path, (error.strerror or str(error)).lower()))
                continue
            if not needle.may_be_in(file):
                continue
            text = file.text()
            text = text if needle.line_ends else text.replace("\r\n", "\n")
            spans = list(_spans(needle, text, left, lambda: deadline - time.monotonic(), record.path))
            if spans:
                here = _Found(file, text, spans, self._declared)
                if filters["kinds"] or filters.get("complexity"):
                    here.spans[:] = [span for span in spans if self._passes(here, span, filters)]
                if here.spans:
                    found.append(here)
                left -= len(here.spans)
            if left <= 0:
                return found, unread, False
        return found, unread, True

    def _passes(self, found: _Found, span: tuple[int, int], filters: FilterValues) -> bool:
        """Whether the declarations around a match have the kinds and the complexity that are wanted."""
        line = found.line_of(span[0])
        kinds, bounds = filters["kinds"], filters.get("complexity")
        if kinds and not any(one["kind"] in kinds for one in around(found.declarations, line)):
            return False
        if not bounds:
            return True
        complexity = 0 if found.file.changed else self._declared.complexity(found.file.record.path, line)
        return bounds[0] <= complexity <= (bounds[1] if len(bounds) > 1 else complexity)


def _rank(record: FileRecord) -> int:
    return _ROLES.get(record.role, len(_ROLES))


def _spans(
    needle: Needle, text: str, most: int, seconds_left: Callable[[], float], path: str
) -> Iterator[tuple[int, int]]:
    """Yield the first matches of a file's text.

    Raises:
        RetrievalError: Time is up.
    """
    seconds = seconds_left()
    try:
        if seconds <= 0:
            raise TimeoutError
        yield from islice(places(needle, text, seconds), most)
    except TimeoutError as error:
        hint = (
            "Make the pattern simpler (no repetition in a repetition), name a word in it, or choose files with --path."
        )
        raise RetrievalError(f"the search took too long and was stopped in {path}", hint=hint) from error


def _first(found: Sequence[_Found], limit: int, context_lines: int) -> Iterator[TextMatch]:
    """Yield the first matches, with all that is told of each."""
    for here in found:
        for span in here.spans[: max(limit, 0)]:
            yield _match(here, span, context_lines)
        limit -= len(here.spans)
        if limit <= 0:
            return


def _match(here: _Found, span: tuple[int, int], context_lines: int) -> TextMatch:
    start, end = span
    first, last = here.line_of(start), here.line_of(max(end - 1, start))
    enclosing = around(here.declarations, first)
    return TextMatch(
        path=PurePosixPath(here.file.record.path),
        start_line=first,
        start_column=start - here.line_starts[first - 1] + 1,
        end_line=last,
        end_column=end - here.line_starts[last - 1] + 1,
        text="\n".join(here.lines(first, last)),
        before=here.lines(first - context_lines, first - 1),
        after=here.lines(last + 1, last + context_lines),
        symbol=enclosing[-1]["qualified_name"] if enclosing else "",
        kind=enclosing[-1]["kind"] if enclosing else "",
        definition=span in here.defining,
        language=here.file.record.language,
        role=here.file.record.role,
    )
