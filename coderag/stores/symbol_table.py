"""Find declarations by name: exact, by any spelling of the same words, and by a qualified suffix."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from coderag.schema import SymbolRecord

_SEPARATORS = re.compile(r"::|->|[.#\\/:]")
_EXACT, _EXACT_OTHER_SCOPE, _FOLDED, _FOLDED_OTHER_SCOPE = 1.0, 0.8, 0.7, 0.5


def fold(name: str) -> str:
    """Return a name without case and underscores: ``max_size`` = ``maxSize`` = ``MAX_SIZE``."""
    return name.replace("_", "").casefold()


def split_qualified(name: str) -> list[str]:
    """Split a qualified name at any language's separator: ``a::b``, ``a.b``, ``a#b``, ``a->b``."""
    return [part for part in _SEPARATORS.split(name.strip("()& ")) if part]


@dataclass(frozen=True, slots=True)
class SymbolMatch:
    """A declaration found by name. ``quality`` is 0 to 1: 1 for the exact name in the scope that was asked for."""

    row: int
    name: str
    qualified_name: str
    kind: str
    start_line: int
    end_line: int
    quality: float


class SymbolTable:
    """All declared names of an index.

    Args:
        symbols: For each chunk, its symbols.
        scopes: For each chunk, words that may qualify its names beside their own scope: the parts of its path.
    """

    def __init__(self, symbols: Iterable[Sequence[SymbolRecord]], scopes: Sequence[Sequence[str]]) -> None:
        self._records: list[tuple[int, SymbolRecord]] = []
        self._by_name: dict[str, list[int]] = defaultdict(list)
        self._by_fold: dict[str, list[int]] = defaultdict(list)
        self._scopes = scopes
        for row, members in enumerate(symbols):
            for member in members:
                name = member["name"]
                position = len(self._records)
                self._records.append((row, member))
                last = (split_qualified(name) or [name])[-1]  # ``module.exports``, ``#private``, ``Weather.Telemetry``
                self._by_name[last].append(position)
                self._by_fold[fold(last)].append(position)

    def __len__(self) -> int:
        return len(self._records)

    def find(self, name: str) -> list[SymbolMatch]:
        """Return the declarations of a name, best first; an exact spelling hides the others.

        Args:
            name: Plain or qualified in any language's way (``Session.login``, ``net::Session``).
        """
        parts = split_qualified(name)
        if not parts:
            return []
        *qualifiers, last = parts
        if exact := self._by_name.get(last):
            matches = [self._match(position, qualifiers, _EXACT, _EXACT_OTHER_SCOPE) for position in exact]
        else:
            folded = self._by_fold.get(fold(last), ())
            matches = [self._match(position, qualifiers, _FOLDED, _FOLDED_OTHER_SCOPE) for position in folded]
        return sorted(matches, key=lambda match: (-match.quality, match.row, match.start_line))

    def kind_of(self, row: int, qualified_name: str) -> str:
        """Return the kind of a declaration in a chunk; empty if the chunk does not declare it."""
        for position in self._by_name.get((split_qualified(qualified_name) or [""])[-1], ()):
            holder, record = self._records[position]
            if holder == row and record["qualified_name"] == qualified_name:
                return record["kind"]
        return ""

    def similar(self, name: str, limit: int = 3) -> list[str]:
        """Return declared names that are nearest in spelling, for a misspelt one."""
        parts = split_qualified(name)
        if not parts:
            return []
        near = get_close_matches(fold(parts[-1]), self._by_fold, n=limit, cutoff=0.8)
        return [self._records[self._by_fold[folded][0]][1]["name"] for folded in near]

    def _match(self, position: int, qualifiers: Sequence[str], same_scope: float, other_scope: float) -> SymbolMatch:
        row, record = self._records[position]
        quality = same_scope if self._in_scope(row, record, qualifiers) else other_scope
        return SymbolMatch(
            row=row,
            name=record["name"],
            qualified_name=record["qualified_name"],
            kind=record["kind"],
            start_line=record["start_line"],
            end_line=record["end_line"],
            quality=quality,
        )

    def _in_scope(self, row: int, record: SymbolRecord, qualifiers: Sequence[str]) -> bool:
        """Whether the qualifiers are the declaration's own scopes, or folders and file that it is in."""
        if not qualifiers:
            return True
        own = [fold(part) for part in split_qualified(record["qualified_name"])[:-1]]
        place = {fold(part) for part in self._scopes[row]}
        wanted = [fold(part) for part in qualifiers]
        if wanted[-1] in (own[-1:] or place):
            return True
        return wanted[-1] in own and all(part in own or part in place for part in wanted)
