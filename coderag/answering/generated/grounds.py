"""What pieces of code have in them, to look up what a statement says of them."""

import re
from collections.abc import Sequence
from functools import cached_property
from itertools import chain
from typing import Final

from coderag.answering.generated.quantities import unfounded_number
from coderag.answering.generated.statements import Place, Statement, place_of
from coderag.schema.answers import Citation
from coderag.schema.chunks import module_of
from coderag.stores.pieces import Piece

_WORD = re.compile(r"[^\W\d]\w*|\d\w*(?:\.\d+)*")
_QUALIFIER = re.compile(r"([^\W\d]\w*)(?:\(\))?(?=\.|::|->|#)")
_COMMENT_SIGNS = re.compile(r"^[ \t]*(?:#+|//+[!/]?|\*+/?|/\*+|--|;+|%+|>)[ \t]?", re.MULTILINE)
_ELLIPSIS = re.compile(r"\s*(?:\.{3}|…)\s*")
_SIGNS_ASIDE = re.compile(r"[\"'`“”‘’*_]")
_WITH_LINES = re.compile(r"(.+):L?(\d+)(?:[-–]L?(\d+))?")
_CONSTANTS: Final = frozenset(("None", "null", "nil", "undefined", "True", "False", "true", "false", "self", "this"))
"""What code may mean without saying it."""


class Grounds:
    """Some pieces of code.

    Args:
        pieces: The pieces.
        paths: All files of the index.
        citations: Where their lines are now, if they were looked for.
    """

    def __init__(self, pieces: Sequence[Piece], paths: Sequence[str], citations: Sequence[Citation] = ()) -> None:
        self._pieces = pieces
        self._paths = paths
        self._citations = citations

    def unfounded(self, statement: Statement) -> str:
        """Return the first thing in a statement that is not in the pieces, in words; empty if all is."""
        if name := self.unfounded_name(statement):
            return name
        for address in statement.addresses:
            if address not in self._code:
                return f"the address {address}"
        for quotation in statement.quotations:
            if not self._is_quoted(quotation):
                return f"the quotation “{quotation}”"
        number = unfounded_number(statement.prose, self._code)
        return number and f"the number {number}"

    def unfounded_name(self, statement: Statement) -> str:
        """Return the first name of code, or place, that is not in the pieces; empty if all are."""
        for place in statement.places:
            if self._is_file(place) and not self._has_place(place):
                return f"the place `{place.path}{f':{place.first}' if place.first else ''}`"
        for code in (*statement.code, *statement.names):
            if not self._has_code(code):
                return f"`{code}`"
        return ""

    def _has_code(self, code: str) -> bool:
        place = place_of(code)
        if code in _CONSTANTS or (place and self._is_file(place)) or self._is_odd_path(code):
            return True
        edges = ("(?<!\\w)" if code[:1].isidentifier() else "", "(?!\\w)" if code[-1:].isidentifier() else "")
        if re.search(edges[0] + r"\s*".join(map(re.escape, code.split())) + edges[1], self._code):
            return True
        if code.startswith("--"):
            return code.strip("-").replace("-", "_") in self._words
        words = _WORD.findall(code) or [code]
        qualifiers = {_folded(name) for name in _QUALIFIER.findall(code)} & self._folded
        return (
            all(word in self._words or word in _CONSTANTS or _folded(word) in qualifiers for word in words)
            or code.replace("-", "_") in self._words
        )

    def _has_place(self, place: Place) -> bool:
        for piece in self._pieces:
            if _is_path(place.path, piece.path):
                spans = [(piece.start_line, piece.end_line)]
                spans += [(one.start_line, one.end_line) for one in self._citations if one.path == piece.path]
                if not place.first or any(first <= place.last and place.first <= last for first, last in spans):
                    return True
        if place.first:
            return False
        if place.path in self._code:
            return True
        return self._is_indexed(place) and self._words.issuperset(_WORD.findall(module_of(place.path)))

    def _is_odd_path(self, code: str) -> bool:
        """Whether code is a path that does not look like one, such as one with blanks, and has the lines that it names."""
        match = _WITH_LINES.fullmatch(code)
        place = Place(match[1], int(match[2]), int(match[3] or match[2])) if match else Place(code, 0, 0)
        named = any(_is_path(place.path, piece.path) for piece in self._pieces)
        return named and self._has_place(place)

    def _is_file(self, place: Place) -> bool:
        """Whether a place is one, and not a name with a dot in it."""
        return bool(place.first) or "/" in place.path or self._is_indexed(place)

    def _is_indexed(self, place: Place) -> bool:
        return any(_is_path(place.path, path) for path in self._paths)

    def _is_quoted(self, quotation: str) -> bool:
        parts = (_plain(part).strip(" .,;:!?。、，") for part in _ELLIPSIS.split(quotation))
        return all(part in self._plain for part in parts)

    @cached_property
    def _code(self) -> str:
        return "\n".join(piece.text for piece in self._pieces)

    @cached_property
    def _plain(self) -> str:
        return _plain(_COMMENT_SIGNS.sub("", self._code))

    @cached_property
    def _words(self) -> frozenset[str]:
        names = chain.from_iterable(
            (piece.name, piece.path, piece.related_to, piece.language) for piece in self._pieces
        )
        return frozenset(_WORD.findall(self._code)) | frozenset(chain.from_iterable(map(_WORD.findall, names)))

    @cached_property
    def _folded(self) -> frozenset[str]:
        return frozenset(map(_folded, self._words))


def _is_path(named: str, path: str) -> bool:
    """Whether a name is a path or the end of it; in a sentence, one with blanks is known by what is behind the last of them."""
    return path == named or path.endswith((f"/{named}", f" {named}"))


def _folded(name: str) -> str:
    return name.replace("_", "").lower()


def _plain(text: str) -> str:
    return " ".join(_SIGNS_ASIDE.sub("", text).split()).casefold()
