"""Compiled patterns of text searches, and their matches in a text."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import regex  # type: ignore[import-untyped]

from coderag.errors import InvalidQueryError
from coderag.retrieval.text_search.live_files import LiveFile
from coderag.retrieval.text_search.repetition_size import count_repeated_items
from coderag.retrieval.text_search.required_literals import find_required_literals, matches_within_lines
from coderag.text.composition import compose

_FLAGS = regex.VERSION0 | regex.MULTILINE
_WORD_OR_SIGN = regex.compile(r"\w+|[^\w\s]")
_ESCAPE_OR_CLASS = regex.compile(r"\\.|\[\^?\]?[^]]*\]", regex.DOTALL)
_MAX_ALTERNATIVE_CHARS = 2_000
"""`regex` prepares a literal in time cubic in its period: a second for 2,000 equal letters, without a time limit."""

_MAX_REPEATED_ITEMS = 2_000
"""Maximum items that repetitions add, each a node of the compiled pattern."""

_MAX_ATOM_CHARS = 200
"""Characters of a literal in one atomic group; `regex` does not join these into one long literal."""

_MAX_SHOWN_CHARS = 200
_MAX_LITERAL_LINE_SHARE = 0.2
"""Above this share of lines with a literal, searching the whole file is faster than line by line."""


@dataclass(frozen=True, slots=True)
class TextPattern:
    r"""Compiled literal or regular expression.

    Attributes:
        pattern: Compiled expression.
        literals: Every match contains one of them; empty if unknown. Lower case if case is ignored.
        ignores_case: Whether case is ignored.
        keeps_line_ends: Whether line ends are matched as they are; else ``\r\n`` is read as ``\n``.
        stays_within_lines: Whether a match cannot span lines, so that only lines with a literal need to be tried.
        literal_text: The literal; empty for a regular expression.
    """

    pattern: "regex.Pattern[str]"
    literals: tuple[bytes, ...]
    ignores_case: bool
    keeps_line_ends: bool
    stays_within_lines: bool
    literal_text: str

    def can_match_file(self, file: LiveFile) -> bool:
        """Return whether a file has to be searched."""
        if not self.literals or not file.is_plain_utf8:
            return True
        if not all(map(bytes.isascii, self.literals)) and not file.data.isascii():
            return True  # the file may spell a letter as two characters
        if not self.ignores_case:
            return any(literal in file.data for literal in self.literals)
        if not file.data.isascii():  # some letters outside ASCII fold to ASCII, such as the Kelvin sign
            return True
        data = file.data.lower()
        return any(literal in data for literal in self.literals)


def compile_literal(text: str, *, ignore_case: bool) -> TextPattern:
    """Compile a literal; line ends and composed characters are normalized."""
    text = compose(text).replace("\r\n", "\n")
    pattern = _compile_pattern(_escape_literal(text), [max(text.split("\n"), key=len)], ignore_case=ignore_case)
    return pattern if ignore_case else replace(pattern, literal_text=text)


def compile_spaced_literal(text: str, *, ignore_case: bool) -> TextPattern | None:
    """Compile a literal with any white space between its words and signs; None for a single word."""
    words = split_words(compose(text))
    if len(words) < 2:
        return None
    pattern = _escape_literal(words[0])
    for previous, word in pairwise(words):
        separator = r"\s+" if starts_with_word(previous) and starts_with_word(word) else r"\s*"
        pattern += separator + _escape_literal(word)
    return _compile_pattern(pattern, [max(words, key=len)], ignore_case=ignore_case)


def split_words(text: str) -> list[str]:
    """Split a text into words and signs."""
    words: list[str] = _WORD_OR_SIGN.findall(text)
    return words


def starts_with_word(text: str) -> bool:
    """Return whether a text starts with a letter, a digit or an underscore."""
    return text[:1].isalnum() or text[:1] == "_"


def compile_regex(pattern: str, *, ignore_case: bool) -> TextPattern:
    """Compile a regular expression.

    Raises:
        InvalidQueryError: It is invalid, and the message gives the position, or it cannot be compiled in bounded time.
    """
    pattern = compose(pattern)
    longest = max(map(len, _ESCAPE_OR_CLASS.sub("..", pattern).split("|")))
    if longest > _MAX_ALTERNATIVE_CHARS:
        limit = f"the maximum is {_MAX_ALTERNATIVE_CHARS:,}"
        message = f"an alternative of the regular expression has {longest:,} characters; {limit}"
        raise InvalidQueryError(message, hint="Use --exact to search for literal text.")
    if count_repeated_items(pattern) > _MAX_REPEATED_ITEMS:
        message = f"the repetitions of the regular expression add more than {_MAX_REPEATED_ITEMS:,} items"
        raise InvalidQueryError(
            message, hint="Use smaller counts, such as {0,100} for {100}, or nest fewer repetitions."
        )
    return _compile_pattern(
        pattern, find_required_literals(pattern), ignore_case=ignore_case, keeps_line_ends="\\r" in pattern
    )


def _escape_literal(text: str) -> str:
    """Return the pattern of a literal, in atomic groups if it is long."""
    if len(text) <= _MAX_ATOM_CHARS:
        return str(regex.escape(text, special_only=True))
    parts = (text[start : start + _MAX_ATOM_CHARS] for start in range(0, len(text), _MAX_ATOM_CHARS))
    return "".join(f"(?>{regex.escape(part, special_only=True)})" for part in parts)


def _compile_pattern(
    pattern: str, literals: Sequence[str], *, ignore_case: bool, keeps_line_ends: bool = False
) -> TextPattern:
    try:
        compiled = regex.compile(pattern, _FLAGS | regex.IGNORECASE if ignore_case else _FLAGS)
    except regex.error as error:
        position = f" at position {error.pos + 1}" if error.pos is not None else ""
        hint = "Use --exact to search for literal text." if position else ""
        raise _make_pattern_error(pattern, f"{error.msg}{position}", hint) from error
    except RecursionError as error:
        raise _make_pattern_error(pattern, "it is nested too deeply") from error
    except (MemoryError, ValueError, OverflowError) as error:
        raise _make_pattern_error(pattern, str(error) or "it is too large") from error
    if ignore_case:
        literals = [literal.lower() for literal in literals] if all(map(str.isascii, literals)) else []
    return TextPattern(
        pattern=compiled,
        literals=tuple(literal.encode() for literal in literals if literal),
        ignores_case=ignore_case,
        keeps_line_ends=keeps_line_ends,
        stays_within_lines=matches_within_lines(pattern),
        literal_text="",
    )


def _make_pattern_error(pattern: str, reason: str, hint: str = "") -> InvalidQueryError:
    excerpt = pattern if len(pattern) <= _MAX_SHOWN_CHARS else f"{pattern[:_MAX_SHOWN_CHARS]}…"
    return InvalidQueryError(f"invalid regular expression {excerpt!r}: {reason}", hint=hint)


def find_matches(pattern: TextPattern, text: str, seconds: float) -> Iterator[tuple[int, int]]:
    """Yield the matches in a text; of empty ones, the first of each line.

    Raises:
        TimeoutError: Matching took longer than `seconds`.
    """
    if pattern.literal_text:
        position = -len(pattern.literal_text)
        while (position := text.find(pattern.literal_text, position + len(pattern.literal_text))) >= 0:
            yield position, position + len(pattern.literal_text)
        return
    line_end = -1
    deadline = time.monotonic() + seconds
    for first, last in _find_search_ranges(pattern, text):
        remaining_s = deadline - time.monotonic()
        if remaining_s <= 0:
            raise TimeoutError
        for match in pattern.pattern.finditer(text, first, last, timeout=remaining_s):
            start, end = match.span()
            if start == end:
                if start <= line_end:
                    continue
                line_end = text.find("\n", start)
                line_end = len(text) if line_end < 0 else line_end
            yield start, end


def _find_search_ranges(pattern: TextPattern, text: str) -> Iterator[tuple[int, int]]:
    """Yield the ranges of a text to search: lines with a literal if that suffices, else all of it."""
    literals = [literal.decode() for literal in pattern.literals]
    can_narrow = pattern.stays_within_lines and literals and not pattern.ignores_case
    if not can_narrow or sum(map(text.count, literals)) > _MAX_LITERAL_LINE_SHARE * text.count("\n"):
        yield 0, len(text)
        return
    lines = set()
    for literal in literals:
        position = -1
        while (position := text.find(literal, position + 1)) >= 0:
            lines.add(text.rfind("\n", 0, position) + 1)
            position = text.find("\n", position)
            if position < 0:
                break
    for start in sorted(lines):
        end = text.find("\n", start)
        yield start, len(text) if end < 0 else end
