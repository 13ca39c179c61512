"""Templates of messages: string literals of code whose values are filled in at run time.

``f"timeout of {t} s exceeded for host {h!r}"``, ``"timeout of %d s"``, `` `timeout of ${t} s` `` and ``"timeout of " + t`` all
write the same message. A template is matched against a message as it was logged, so a value in it does not matter.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import zip_longest
from typing import Final

_PLACEHOLDER: Final = re.compile(
    r"\$\{(?:[^{}]|\{[^{}]*\})*\}"  # JavaScript, Kotlin, Scala, shell
    r"|\#\{(?:[^{}]|\{[^{}]*\})*\}"  # Ruby, Elixir
    r"|\\\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"  # Swift
    r"|\{\{[^{}]*\}\}|\{[^{}\n]*\}"  # Python, Rust, C#, Java
    r"|\$[A-Za-z_]\w*(?:(?:->|\.)[A-Za-z_]\w*|\[[^\]\n]*\])*"  # PHP, Perl, Kotlin, Dart
    r"|%(?:\d+\$)?[-+\#0]*(?:\(\w+\))?[-+\#0]*[\d.*]*(?:hh?|ll?|[zjtL])?[diouxXeEfFgGaAcsrpqvwTtbUkn@]"  # C, Go, Python
    r"|%(?=\W*$)"  # C, before a macro: "%" PRIu64
)
_ESCAPE: Final = re.compile(r"\\(?:[ntrfv0]|u\{?[0-9a-fA-F]{1,6}\}?|x[0-9a-fA-F]{2}|\n\s*|(?P<sign>.))", re.DOTALL)
_LITERALS: Final[Sequence[re.Pattern[str]]] = tuple(
    re.compile(rf"{quote}((?:\\.|[^{quote}\\{line_end}])*){quote}", re.DOTALL)
    for quote, line_end in (('"', r"\n"), ("'", r"\n"), ("`", ""))
)
_JOINING: Final = re.compile(r"[\s+.&\\]*(?:<>)?[\s\\]*[bfruBFRULsx$@]{0,2}")
"""Code between two literals that are one text."""

_QUOTES: Final = "\"'`‘’“”«»"
_STARTS_WORD, _ENDS_WORD = re.compile(r"[^\W_]"), re.compile(r"[^\W_]\Z")
_EDGE_SIGNS: Final = " .!?:;,"
_WORD: Final = re.compile(r"[^\W_]+")
_LETTERS: Final = re.compile(r"[^\W\d_]{2,}")
_MAX_LITERALS, _MAX_GAP_CHARS, _MAX_GAP_LINES = 6, 120, 2  # of one message
_MAX_LITERAL_CHARS: Final = 600
_MAX_VALUE_CHARS: Final = 200  # of a value between two parts of a message
_MIN_WORDS, _MIN_LETTERS = 3, 10  # of a template that identifies a message
_MIN_WHOLE_WORDS: Final = 2  # likewise, if no more is in the message
_MAX_WHOLE_WORDS: Final = 5  # of such a message
_MIN_OPENING_CHARS: Final = 4


@dataclass(frozen=True, slots=True)
class TemplateMatch:
    """Match of a template in a message.

    Attributes:
        word_count: Words of the template, without its values.
        share: Share of the message's words that the template explains, with the values in it.
        starts: Whether the message begins with it.
    """

    word_count: int
    share: float
    starts: bool


@dataclass(frozen=True)
class MessageTemplate:
    """Text of a message with gaps for its values.

    Attributes:
        start, end: Span of its literals in the code, in characters.
        parts: Fixed texts; a value stands between any two, before the first or after the last if that is empty.
    """

    start: int
    end: int
    parts: Sequence[str]

    @cached_property
    def words(self) -> frozenset[str]:
        """Its whole words in lower case; one that touches a value is part of another."""
        last = len(self.parts) - 1
        return frozenset(
            word
            for number, part in enumerate(self.parts)
            for word in _list_whole_words(part, is_open_left=number > 0, is_open_right=number < last)
        )

    @property
    def inner_words(self) -> frozenset[str]:
        """Its whole words but those at its end, which a literal behind it may go on with."""
        return self.words.difference(_list_whole_words(self.parts[-1])[-1:])

    def match(self, message: str) -> TemplateMatch | None:
        """Match the template in a message; None if it is not there or is too short to identify one."""
        pieces = _trim_pieces([_normalize(part) for part in self.parts])
        fixed = [word for piece in pieces for word in _LETTERS.findall(piece)]
        if len(fixed) < _MIN_WHOLE_WORDS or sum(map(len, fixed)) < _MIN_LETTERS:
            return None
        total = len(_WORD.findall(message))
        if len(fixed) < _MIN_WORDS and (total > _MAX_WHOLE_WORDS or not pieces[0] or not pieces[-1]):
            return None
        pattern = rf"(?:.{{0,{_MAX_VALUE_CHARS}}}?)".join(map(_compile_piece, pieces))
        before = r"(?<!\w)" if pieces[0][:1].isalnum() else ""
        after = r"(?!\w)" if pieces[-1][-1:].isalnum() else ""
        span = re.search(f"{before}{pattern}{after}", message, re.IGNORECASE | re.DOTALL)
        if span is None:
            return None
        start = span.start() if pieces[0] else 0
        end = span.end() if pieces[-1] else len(message)
        share = len(_WORD.findall(message[start:end])) / total if total else 0.0
        if len(fixed) < _MIN_WORDS and share < 1:
            return None
        return TemplateMatch(len(fixed), share, not _WORD.search(message[:start]))


def iter_templates(code: str, words: frozenset[str] = frozenset()) -> Iterator[MessageTemplate]:
    """Yield the templates in code: each string literal, and each run of literals that code joins to one text.

    Args:
        code: Lines of code.
        words: Words of a message in lower case; templates with others are left out. Empty for all templates.
    """
    opening = _compile_opening(words) if words else None
    for pattern in _LITERALS:
        literals = [match for match in pattern.finditer(code) if len(match[1]) <= _MAX_LITERAL_CHARS]
        for first, literal in enumerate(literals):
            if opening is None or opening.search(literal[1]):
                yield from _iter_runs(code, literals[first : first + _MAX_LITERALS], words)


@lru_cache(16)
def _compile_opening(words: frozenset[str]) -> re.Pattern[str]:
    """Compile the pattern of a word of a message that may be in its first literal: the long ones, if it has any."""
    long_words = [word for word in words if len(word) >= _MIN_OPENING_CHARS]
    return re.compile("|".join(map(re.escape, sorted(long_words or words))), re.IGNORECASE)


def _iter_runs(code: str, literals: Sequence[re.Match[str]], words: frozenset[str]) -> Iterator[MessageTemplate]:
    """Yield the template of the first literal, and of it with those after it, while they may be in the message."""
    first, *_ = literals
    parts = split_template(first[1])
    for previous, further in zip_longest(literals, literals[1:]):
        template = MessageTemplate(first.start(), previous.end(), parts)
        if words and not template.inner_words <= words:
            return
        if not words or template.words <= words:
            yield template
        gap = code[previous.end() : further.start()] if further else ""
        if further is None or len(gap) > _MAX_GAP_CHARS or gap.count("\n") > _MAX_GAP_LINES:
            return
        head, *tail = split_template(further[1])
        is_joined = _JOINING.fullmatch(gap) is not None
        parts = [*parts[:-1], parts[-1] + head, *tail] if is_joined else [*parts, head, *tail]


def split_template(literal: str) -> list[str]:
    """Split the text of a string literal at its values, with the signs that its escapes stand for."""
    parts = _PLACEHOLDER.split(literal)
    return [_ESCAPE.sub(lambda match: match["sign"] or " ", part).replace("%%", "%") for part in parts]


def split_message_words(text: str) -> list[str]:
    """Split a message into its words, in lower case."""
    return _WORD.findall(text.lower())


def _list_whole_words(text: str, *, is_open_left: bool = False, is_open_right: bool = False) -> list[str]:
    """List the words of a fixed text in lower case, without those at an edge where a value may go on with them."""
    words = split_message_words(text)
    first = 1 if is_open_left and _STARTS_WORD.match(text) else 0
    last = len(words) - (1 if is_open_right and _ENDS_WORD.search(text) else 0)
    return words[first:last]


def _trim_pieces(pieces: list[str]) -> list[str]:
    """Return fixed texts without the signs at both edges, which a message may lack; an edge of signs alone is open."""
    while len(pieces) > 2 and not _WORD.search(pieces[-2]) and not _WORD.search(pieces[-1]):
        pieces = [*pieces[:-2], ""]
    while len(pieces) > 2 and not _WORD.search(pieces[0]) and not _WORD.search(pieces[1]):
        pieces = ["", *pieces[2:]]
    first, *further = pieces
    if not further:
        return [first.strip(_EDGE_SIGNS)]
    return [first.lstrip(_EDGE_SIGNS), *further[:-1], further[-1].rstrip(_EDGE_SIGNS)]


def _normalize(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def _compile_piece(piece: str) -> str:
    """Return the pattern of a fixed text: any white space, any quotation marks."""
    return "".join(
        r"\s+" if sign == " " else f"[{re.escape(_QUOTES)}]" if sign in _QUOTES else re.escape(sign) for sign in piece
    )
