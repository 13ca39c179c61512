"""Path globs, matched in time linear in the pattern and the path.

Most patterns become regular expressions. With several stars these backtrack: 255 ms for one path and ``*a*a*a*b``.
Such patterns run as a bit-parallel automaton instead: a set of positions, the bits of a number, passes over the path
once.
"""

import re
from collections.abc import Sequence
from typing import Final

from coderag.text.composition import compose

_GLOB_TOKEN: Final = re.compile(r"(\*\*/|\*\*|\*|\?)")
_FOLDERS_TOKEN, _ANYTHING_TOKEN, _NAME_TOKEN, _CHARACTER_TOKEN = "**/", "**", "*", "?"


class PathGlobs:
    """Set of globs: ``*`` and ``?`` stay within a folder, ``**`` crosses folders. Each also matches paths below.

    Args:
        patterns: One without a folder matches at any depth, as in git; empty or ``.`` is the repository itself.
    """

    def __init__(self, patterns: Sequence[str]) -> None:
        tokenized = [_tokenize(compose(pattern)) for pattern in patterns]
        expressions = [_to_regex(tokens) for tokens in tokenized if not _needs_branching(tokens)]
        self._expression = re.compile("|".join(f"(?:{expression})" for expression in expressions) or r"(?!)")
        self._branching_patterns = [tokens for tokens in tokenized if _needs_branching(tokens)]

    def matches(self, path: str) -> bool:
        """Return whether any glob matches a path, relative to the root, with ``/`` between folders."""
        path = compose(path)
        if self._expression.fullmatch(path) is not None:
            return True
        if not self._branching_patterns:
            return False
        simulator = _BitParallelMatcher(path)
        return any(simulator.matches(tokens) for tokens in self._branching_patterns)


def _tokenize(pattern: str) -> tuple[str, ...]:
    pattern = pattern.removeprefix("./").strip("/")
    if pattern in ("", "."):
        return (_ANYTHING_TOKEN,)
    anywhere = () if "/" in pattern else (_FOLDERS_TOKEN,)
    return (*anywhere, *filter(None, _GLOB_TOKEN.split(pattern)))


def _needs_branching(tokens: Sequence[str]) -> bool:
    """Return whether a regular expression for the pattern could backtrack over several stars."""
    stars = 0
    for token in tokens[:-1] if tokens[-1] == _ANYTHING_TOKEN else tokens:
        if token == _ANYTHING_TOKEN:
            return True
        stars = 0 if "/" in token and token != _FOLDERS_TOKEN else stars + (token == _NAME_TOKEN)
        if stars > 1:
            return True
    return tokens.count(_FOLDERS_TOKEN) > 1


def _to_regex(tokens: Sequence[str]) -> str:
    meanings = {_FOLDERS_TOKEN: r"(?:.*/)?", _ANYTHING_TOKEN: ".*", _NAME_TOKEN: "[^/]*", _CHARACTER_TOKEN: "[^/]"}
    return "".join(meanings.get(token) or re.escape(token) for token in tokens) + r"(?:/.*)?"


class _BitParallelMatcher:
    """Bit-parallel matcher of one path: bit n of a number is the position before character n."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._end = 1 << len(path)
        self._slashes = self._find_positions("/")
        self._in_name = (self._end - 1) & ~self._slashes
        self._in_line = (self._end - 1) & ~self._find_positions("\n")

    def matches(self, tokens: Sequence[str]) -> bool:
        """Return whether the tokens of a pattern match the path, or a folder in it."""
        positions = 1  # positions after the matched tokens
        for token in tokens:
            positions = self._advance(token, positions)
        descendants = _spread_positions((positions & self._slashes) << 1, self._in_line)
        return bool((positions | descendants) & self._end)

    def _advance(self, token: str, positions: int) -> int:
        """Advance positions over one token."""
        if token == _NAME_TOKEN:
            return _spread_positions(positions, self._in_name)
        if token == _FOLDERS_TOKEN:
            return positions | (_spread_positions(positions, self._in_line) & self._slashes) << 1
        if token == _ANYTHING_TOKEN:
            return _spread_positions(positions, self._in_line)
        if token == _CHARACTER_TOKEN:
            return (positions & self._in_name) << 1
        return (positions & self._find_positions(token)) << len(token) if positions else 0

    def _find_positions(self, text: str) -> int:
        """Return the positions before each occurrence of a text, including overlapping ones."""
        positions, position = 0, self._path.find(text)
        while position >= 0:
            positions |= 1 << position
            position = self._path.find(text, position + 1)
        return positions


def _spread_positions(positions: int, passable: int) -> int:
    """Return the positions reachable through passable characters.

    In the sum, the carry of the lowest position in each run of ones crosses the run.
    """
    return positions | ((passable + (positions & passable)) ^ passable)
