"""Compilation of ignore-file patterns with git's semantics.

A pattern is compiled to a sequence of segments, one for each name of a path; `ignore` matches them name by name.

The library pathspec is not used: its patterns differ from git's (classes, escapes, trailing blanks, ``a**/b``, bytes; see
the tests), and it matches whole paths against every pattern.

Source: gitignore(5); ``dir.c`` and ``wildmatch.c`` of git. As in git, names and patterns are compared as bytes, represented
by Latin-1 characters.
"""

import codecs
import re
import string
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

_POSIX_CLASSES = {
    "alnum": string.ascii_letters + string.digits,
    "alpha": string.ascii_letters,
    "blank": " \t",
    "cntrl": "".join(map(chr, [*range(32), 127])),
    "digit": string.digits,
    "graph": "".join(map(chr, range(33, 127))),
    "lower": string.ascii_lowercase,
    "print": "".join(map(chr, range(32, 127))),
    "punct": string.punctuation,
    "space": string.whitespace,
    "upper": string.ascii_uppercase,
    "xdigit": string.hexdigits,
}
_NAME_CHARACTERS = frozenset(map(chr, range(1, 256))) - {"/"}
_STAR, _ANY, _SLASH = "*", ".", "/"  # tokens; any other token is a regular expression for one character
_NEVER = "(?!)"
_WITHOUT_TRAILING_SPACES = re.compile(r"(?: *(?:\\.?|[^ \\]))*", re.DOTALL)
_GLUED_STARS = re.compile(r"([^*?\[\\]*[^*?\[\\/])\*\*+(?:/(.*))?", re.DOTALL)


class PatternSegment(NamedTuple):
    """Condition on a name: a literal ``name``, a ``suffix`` after a star, a ``regex``, or ``any`` names (``**``)."""

    kind: str
    text: str = ""

    def matches(self, name: str) -> bool:
        """Return whether a name matches; the name is in lower case if the pattern was folded."""
        if self.kind == "name":
            return name == self.text
        if self.kind == "suffix":
            return name.endswith(self.text)
        return self.kind == "any" or _compile_full_match(self.text)(name) is not None


ANY_NAMES = PatternSegment("any")
_SegmentPath = tuple[PatternSegment, ...]


@lru_cache(4096)
def _compile_full_match(expression: str) -> Callable[[str], re.Match[str] | None]:
    return re.compile(expression, re.DOTALL).fullmatch


@dataclass(frozen=True, slots=True, eq=False)
class IgnoreRule:
    """A compiled pattern.

    Attributes:
        reason: Reason reported for a path that it ignores.
        applies_to_tracked: Whether it applies to tracked files, too; False for git's own patterns.
        rank: Higher ranks override lower ones, regardless of the depth of their files.
        paths: Segments of the pattern; several sequences for the few patterns that have alternatives.
    """

    reason: str
    applies_to_tracked: bool
    rank: int
    negated: bool
    directories_only: bool
    paths: tuple[_SegmentPath, ...]


@dataclass(frozen=True, slots=True)
class PatternOrigin:
    """Source of patterns: its label and the rank of its rules."""

    label: str
    applies_to_tracked: bool = False
    rank: int = 1


def parse_patterns(data: bytes, origin: PatternOrigin, *, fold: bool) -> Iterator[IgnoreRule]:
    """Yield the rules of an ignore file, in order."""
    for raw in data.removeprefix(codecs.BOM_UTF8).split(b"\n"):
        if raw and not raw.startswith(b"#"):
            line = raw.removesuffix(b"\r").partition(b"\0")[0].decode("latin-1")
            blank_free = _WITHOUT_TRAILING_SPACES.match(line)
            rule = _parse_line(blank_free.group() if blank_free else "", origin, fold=fold)
            if rule.paths:
                yield rule


def _parse_line(line: str, origin: PatternOrigin, *, fold: bool) -> IgnoreRule:
    negated = line.startswith("!")
    pattern = line[negated:]
    body = pattern.removesuffix("/")
    if "/" in body:
        paths = tuple(
            filter(None, (_parse_anchored(part, fold=fold) for part in _split_glued_stars(body.removeprefix("/"))))
        )
    else:
        paths = tuple(filter(None, (_parse_unanchored(body, fold=fold),)))
    text = line.encode("latin-1").decode("utf-8", "backslashreplace")
    return IgnoreRule(
        f"{origin.label}: {text}", origin.applies_to_tracked, origin.rank, negated, body != pattern, paths
    )


def _split_glued_stars(body: str) -> Iterator[str]:
    """Yield patterns that together match git's reading of ``a**/b``, which differs from its manual: ``ab`` and ``a*/**/b``.

    Git strips the literal prefix before it parses the rest, and ``**/b`` is special (``match_pathname``).
    """
    glued = _GLUED_STARS.fullmatch(body)
    if not glued:
        yield body
        return
    start, rest = glued.groups()
    if rest is None:
        yield from (f"{start}*", f"{start}*/**")
        return
    yield f"{start}*/**/{rest}"
    yield from _split_glued_stars(start + rest) if rest.startswith("**") else (start + rest,)


def _parse_unanchored(body: str, *, fold: bool) -> _SegmentPath:
    """Parse a pattern without a slash, which matches a name at any depth."""
    tokens = _tokenize_pattern(body, fold=fold)
    return (ANY_NAMES, _make_segment(tokens)) if tokens else ()


def _parse_anchored(body: str, *, fold: bool) -> _SegmentPath:
    """Parse a pattern with a slash; return no segments if it can never match."""
    path: list[PatternSegment] = []
    name: list[str] = []
    for token in [*_tokenize_pattern(body, fold=fold), _SLASH]:
        if token != _SLASH:
            name.append(token)
            continue
        if not name:  # "a//b": names are never empty
            return ()
        segment = ANY_NAMES if len(name) > 1 and set(name) == {_STAR} else _make_segment(name)
        if segment is not ANY_NAMES or path[-1:] != [segment]:
            path.append(segment)
        name = []
    return tuple(path)


def _make_segment(tokens: Sequence[str]) -> PatternSegment:
    if not any(map(_is_wild, tokens)):
        return PatternSegment("name", "".join(token[-1] for token in tokens))
    if tokens[0] == _STAR and not any(map(_is_wild, tokens[1:])):
        return PatternSegment("suffix", "".join(token[-1] for token in tokens[1:]))
    chunks = [""]
    for token in tokens:
        if token == _STAR:
            chunks.append("")
        else:
            chunks[-1] += token
    if len(chunks) == 1:
        return PatternSegment("regex", chunks[0])
    # The leftmost match after a star is always sufficient; atomic groups avoid backtracking, so time stays polynomial.
    middle = "".join(f"(?>.*?{chunk})" for chunk in chunks[1:-1] if chunk)
    return PatternSegment("regex", f"{chunks[0]}{middle}.*{chunks[-1]}")


def _is_wild(token: str) -> bool:
    return token in (_STAR, _ANY) or token.startswith(("[", "("))


def _tokenize_pattern(body: str, *, fold: bool) -> list[str]:
    """Tokenize a pattern; return no tokens if it is malformed and so matches nothing. Folding lowers unescaped letters."""
    tokens, position = [], 0
    try:
        while position < len(body):
            char = body[position]
            if char == "[":
                token, position = _parse_bracket(body, position + 1, fold=fold)
            elif char == "\\":
                position += 1
                token = re.escape(body[position])
            else:
                token = {"*": _STAR, "?": _ANY}.get(char) or re.escape(lower_ascii(char) if fold else char)
            tokens.append(token)
            position += 1
    except (LookupError, ValueError):  # an unclosed escape or class, or an unknown class
        return []
    return tokens


def _parse_bracket(body: str, start: int, *, fold: bool) -> tuple[str, int]:
    """Parse a bracket expression; return its regular expression and the offset of ``]`` (``dowild``, case ``[``).

    Raises:
        LookupError, ValueError: The class is malformed.
    """
    negated = body[start] in "!^"
    position = start + negated
    members: set[str] = set()
    previous = ""  # possible start of a range
    while True:
        char = body[position]
        if char == "-" and previous and body[position + 1] != "]":
            position += 1 + (body[position + 1] == "\\")
            members.update(_fold_characters(map(chr, range(ord(previous), ord(body[position]) + 1)), fold=fold))
            previous = ""
        elif (
            body.startswith("[:", position)
            and body[(end := body.index("]", position + 2)) - 1] == ":"
            and end > position + 2
        ):
            members.update(_fold_characters(_POSIX_CLASSES[body[position + 2 : end - 1]], fold=fold))
            position, previous = end, ""
        else:
            position += char == "\\"
            previous = body[position]
            members.add(previous)
        position += 1
        if body[position] == "]":
            return _format_class(_NAME_CHARACTERS - members if negated else _NAME_CHARACTERS & members), position


def _fold_characters(characters: Iterable[str], *, fold: bool) -> Iterable[str]:
    """Add the lower-case forms of characters if case is folded, because names are compared in lower case then."""
    return {form for char in characters for form in (char, lower_ascii(char))} if fold else characters


def _format_class(members: Collection[str]) -> str:
    return f"[{''.join(map(re.escape, sorted(members)))}]" if members else _NEVER


_TO_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


def lower_ascii(text: str) -> str:
    """Lower ASCII letters only, as git does."""
    return text.translate(_TO_LOWER)


class NameFilter:
    """Rejects names that no segment can match, without trying the segments one by one."""

    def __init__(self, segments: Collection[PatternSegment]) -> None:
        texts = {
            kind: {segment.text for segment in segments if segment.kind == kind} for kind in ("name", "suffix", "regex")
        }
        self._names = frozenset(texts["name"])
        self._suffixes = tuple(texts["suffix"])
        self._match = _compile_full_match("|".join(sorted(texts["regex"]))) if texts["regex"] else None
        self._everything = any(segment.kind == "any" for segment in segments)

    def may_match(self, name: str) -> bool:
        """Return whether at least one of the segments matches a name."""
        if name in self._names or self._everything or name.endswith(self._suffixes):
            return True
        return self._match is not None and self._match(name) is not None
