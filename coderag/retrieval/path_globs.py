"""Globs over paths, matched in time that grows with the pattern and with the path, whatever the pattern is.

Most are regular expressions. One of several stars tries every way to share a path among them: 255 ms for one path and
``*a*a*a*b``. For such a pattern a set of places in the path, the bits of a number, goes through it once, all at the same time.
"""

import re
from collections.abc import Sequence
from typing import Final

_TOKEN: Final = re.compile(r"(\*\*/|\*\*|\*|\?)")
_FOLDERS, _ANYTHING, _NAME, _CHARACTER = "**/", "**", "*", "?"


class PathGlobs:
    """Some patterns: ``*`` and ``?`` stay within a folder, ``**`` crosses folders. Each matches what lies below as well.

    Args:
        patterns: One without a folder in it holds at any depth, as in git; empty or ``.`` is the repository itself.
    """

    def __init__(self, patterns: Sequence[str]) -> None:
        split = [_tokens_of(pattern) for pattern in patterns]
        plain = [_regex(tokens) for tokens in split if not _branches(tokens)]
        self._plain = re.compile("|".join(f"(?:{one})" for one in plain) or r"(?!)")
        self._branching = [tokens for tokens in split if _branches(tokens)]

    def match(self, path: str) -> bool:
        """Whether one of them matches a path, relative to the root, with ``/`` between folders."""
        if self._plain.fullmatch(path) is not None:
            return True
        if not self._branching:
            return False
        places = _Places(path)
        return any(places.match(tokens) for tokens in self._branching)


def _tokens_of(pattern: str) -> tuple[str, ...]:
    pattern = pattern.removeprefix("./").strip("/")
    if pattern in ("", "."):
        return (_ANYTHING,)
    anywhere = () if "/" in pattern else (_FOLDERS,)
    return (*anywhere, *filter(None, _TOKEN.split(pattern)))


def _branches(tokens: Sequence[str]) -> bool:
    """Whether a regular expression would have several stars to share the same part of a path among."""
    stars = 0
    for token in tokens[:-1] if tokens[-1] == _ANYTHING else tokens:
        if token == _ANYTHING:
            return True
        stars = 0 if "/" in token and token != _FOLDERS else stars + (token == _NAME)
        if stars > 1:
            return True
    return tokens.count(_FOLDERS) > 1


def _regex(tokens: Sequence[str]) -> str:
    meanings = {_FOLDERS: r"(?:.*/)?", _ANYTHING: ".*", _NAME: "[^/]*", _CHARACTER: "[^/]"}
    return "".join(meanings.get(token) or re.escape(token) for token in tokens) + r"(?:/.*)?"


class _Places:
    """A path, and places in it: bit n of a number stands for the place before character n."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._end = 1 << len(path)
        self._slashes = self._where("/")
        self._in_name = (self._end - 1) & ~self._slashes
        self._in_line = (self._end - 1) & ~self._where("\n")

    def match(self, tokens: Sequence[str]) -> bool:
        """Whether the tokens of a pattern match the path, or a folder in it."""
        places = 1  # after the part of the path that the tokens so far match
        for token in tokens:
            places = self._after(token, places)
        below = _spread((places & self._slashes) << 1, self._in_line)
        return bool((places | below) & self._end)

    def _after(self, token: str, places: int) -> int:
        """Return the places after what a token matches that begins at one of some places."""
        if token == _NAME:
            return _spread(places, self._in_name)
        if token == _FOLDERS:
            return places | (_spread(places, self._in_line) & self._slashes) << 1
        if token == _ANYTHING:
            return _spread(places, self._in_line)
        if token == _CHARACTER:
            return (places & self._in_name) << 1
        return (places & self._where(token)) << len(token) if places else 0

    def _where(self, text: str) -> int:
        """Return the places before each occurrence of a text, of those that overlap, too."""
        found, at = 0, self._path.find(text)
        while at >= 0:
            found |= 1 << at
            at = self._path.find(text, at + 1)
        return found


def _spread(places: int, through: int) -> int:
    """Return the places that can be reached from some places through characters of a kind.

    In a sum, the carry of the lowest place of each run of ones goes through the run, to the place behind it.
    """
    return places | ((through + (places & through)) ^ through)
