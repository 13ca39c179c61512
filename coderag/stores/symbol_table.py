"""Symbol table: declarations by exact name, folded spelling, qualified suffix or similar name."""

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from coderag.schema.chunks import SymbolRecord
from coderag.stores.spelling_index import MIN_SIMILARITY, Spelling, SpellingIndex
from coderag.text.composition import compose

if TYPE_CHECKING:
    import pyarrow as pa

_SEPARATORS = re.compile(r"::|->|[.#\\/:]")
_DEMOTED_KINDS: Final = frozenset({"key", "rule", "section", "impl"})
"""Kinds that are rarely meant by a name: a function ``store`` precedes a service of that name in a configuration
file, a type precedes its implementations elsewhere.
"""
_DEMOTED_KIND_FACTOR = 0.9
_MAX_QUALITY_GAP = 0.08  # of quality, to the likeliest: one more wrong letter in ten
_MEMO_CAPACITY = 64  # names
_EXACT_QUALITY, EXACT_OTHER_SCOPE_QUALITY, _FOLDED_QUALITY, _FOLDED_OTHER_SCOPE_QUALITY = 1.0, 0.8, 0.7, 0.5

Key = TypeVar("Key")
Value = TypeVar("Value")


def fold_name(name: str) -> str:
    """Fold case, underscores and hyphens of a name: ``max_size`` = ``maxSize`` = ``MAX_SIZE`` = ``max-size``."""
    return compose(name).replace("_", "").replace("-", "").casefold()


def split_qualified(name: str) -> list[str]:
    """Split a qualified name at any language's separator: ``a::b``, ``a.b``, ``a#b``, ``a->b``."""
    return [part for part in _SEPARATORS.split(compose(name).strip("()& ")) if part]


def _get_plain_name(name: str) -> str:
    """Return the last segment of a declared name: ``module.exports``, ``#private``, ``Weather.Telemetry``."""
    return compose(name) if name.isidentifier() else (split_qualified(name) or [name])[-1]


@dataclass(frozen=True, slots=True)
class SymbolMatch:
    """A declaration found by name. ``quality`` is 0 to 1: 1 for the exact name in the requested scope."""

    row: int
    name: str
    qualified_name: str
    kind: str
    start_line: int
    end_line: int
    quality: float


class _Memo(Generic[Key, Value]):
    """Memo of recent results.

    A `functools` cache on a method would form a cycle and keep a whole generation in memory until garbage collection.
    """

    def __init__(self) -> None:
        self._values: dict[Key, Value] = {}

    def get_or_compute(self, key: Key, compute: Callable[[Key], Value]) -> Value:
        """Return the value of a key; compute it if it is not in the memo."""
        value = self._values.get(key)
        if value is None:
            value = compute(key)
            if len(self._values) >= _MEMO_CAPACITY:
                self._values.clear()
            self._values[key] = value
        return value


class SymbolTable:
    """Symbol table of an index.

    Args:
        symbols: Column of the chunk table with the symbols of each chunk.
        get_path_scopes: Returns the parts of a chunk's path, which may qualify its names besides their own scope.
    """

    def __init__(self, symbols: "pa.ListArray", get_path_scopes: Callable[[int], Sequence[str]]) -> None:
        self._get_path_scopes = get_path_scopes
        # Several steps of a query ask for the same name, and a common one (``run``) has hundreds of declarations.
        self._match_memo: _Memo[tuple[str, ...], list[SymbolMatch]] = _Memo()
        self._spelling_memo: _Memo[str, list[Spelling]] = _Memo()
        # Records are built lazily: fifty thousand dicts would take a third of the time to open an index.
        self._records: pa.StructArray = symbols.flatten()
        self._rows: NDArray[np.int64] = symbols.value_parent_indices().to_numpy()
        names = self._records.field("name").dictionary_encode()
        self._numbers: dict[str, int] = {}
        """Number of each plain name, in the order of first occurrence."""
        numbers = [
            self._numbers.setdefault(_get_plain_name(name), len(self._numbers)) for name in names.dictionary.to_pylist()
        ]
        name_numbers = np.array(numbers, np.int64)[names.indices.to_numpy()] if numbers else np.zeros(0, np.int64)
        # Positions of the records of each name, ascending, and where those of a name begin.
        self._positions: NDArray[np.int64] = np.argsort(name_numbers, kind="stable")
        self._starts = np.concatenate([[0], np.cumsum(np.bincount(name_numbers, minlength=len(self._numbers)))])

    @cached_property
    def _numbers_by_fold(self) -> dict[str, list[int]]:
        numbers: dict[str, list[int]] = defaultdict(list)
        for name, number in self._numbers.items():
            numbers[fold_name(name)].append(number)
        return numbers

    @cached_property
    def _spelling_index(self) -> SpellingIndex:
        return SpellingIndex(self._numbers_by_fold)

    def _find_positions(self, name: str) -> list[int]:
        """Return the positions of the records of a plain name."""
        number = self._numbers.get(name)
        return [] if number is None else self._list_positions([number])

    def _find_folded_positions(self, folded: str) -> list[int]:
        return self._list_positions(self._numbers_by_fold.get(folded, ()))

    def _list_positions(self, numbers: Sequence[int]) -> list[int]:
        """Return the positions of the records of some names, one name after the other."""
        return [
            position
            for number in numbers
            for position in self._positions[self._starts[number] : self._starts[number + 1]].tolist()
        ]

    def __len__(self) -> int:
        return len(self._records)

    def __contains__(self, name: str) -> bool:
        """Return whether a plain name is declared exactly as it is written."""
        return name in self._numbers

    def find(self, name: str) -> list[SymbolMatch]:
        """Find the declarations of a name, best first; an exact spelling hides folded ones.

        Args:
            name: Plain or qualified in any language's way (``Session.login``, ``net::Session``).
        """
        parts = split_qualified(name)
        if not parts:
            return []
        return list(self._match_memo.get_or_compute(tuple(parts), self._find_matches))

    def _find_matches(self, parts: tuple[str, ...]) -> list[SymbolMatch]:
        *qualifiers, last = parts
        if positions := self._find_positions(last):
            qualities = _EXACT_QUALITY, EXACT_OTHER_SCOPE_QUALITY
        else:
            positions, qualities = (
                self._find_folded_positions(fold_name(last)),
                (_FOLDED_QUALITY, _FOLDED_OTHER_SCOPE_QUALITY),
            )
        records = self._records.take(positions).to_pylist() if positions else []
        rows = self._rows[positions].tolist()
        matches = [
            self._build_match(row, record, qualifiers, *qualities) for row, record in zip(rows, records, strict=True)
        ]
        return sorted(matches, key=lambda match: (-match.quality, match.row, match.start_line))

    def find_kind(self, row: int, qualified_name: str) -> str:
        """Return the kind of a declaration in a chunk; empty if the chunk does not declare it."""
        for position in self._find_positions((split_qualified(qualified_name) or [""])[-1]):
            if self._rows[position] == row:
                record: SymbolRecord = self._records[position].as_py()
                if record["qualified_name"] == qualified_name:
                    return record["kind"]
        return ""

    def list_declared_names(self, row: int, start_line: int, end_line: int) -> list[str]:
        """List the qualified names that a chunk declares in some of its lines, in source order."""
        records = self._records.take(np.flatnonzero(self._rows == row)).to_pylist()
        overlapping = [
            record for record in records if record["start_line"] <= end_line and start_line <= record["end_line"]
        ]
        return [
            record["qualified_name"]
            for record in sorted(overlapping, key=lambda record: (record["start_line"], -record["end_line"]))
        ]

    def suggest_names(self, name: str, limit: int = 3) -> list[str]:
        """Suggest declared names for one that is not declared, the likeliest first.

        If one is spelt nearly the same, much less similar ones are omitted.
        """
        spellings = self.find_spellings(name, limit)
        min_quality = (
            spellings[0].quality - _MAX_QUALITY_GAP if spellings and spellings[0].quality >= MIN_SIMILARITY else 0.0
        )
        return [spelling.word for spelling in spellings if spelling.quality >= min_quality]

    def find_spellings(self, name: str, limit: int = 3) -> list[Spelling]:
        """Find declared names that differ in a few letters, else those that the name abbreviates.

        Case and underscores are ignored.
        """
        parts = split_qualified(name)
        return (
            self._spelling_memo.get_or_compute(fold_name(parts[-1]), self._find_folded_spellings)[:limit]
            if parts
            else []
        )

    def _find_folded_spellings(self, folded: str) -> list[Spelling]:
        spellings = self._spelling_index.find_similar(folded) or self._spelling_index.find_expansions(folded)
        positions = [self._find_folded_positions(spelling.word)[0] for spelling in spellings]
        names = [self._records[position]["name"].as_py() for position in positions]
        return [Spelling(name, spelling.quality) for name, spelling in zip(names, spellings, strict=True)]

    def _build_match(
        self, row: int, record: SymbolRecord, qualifiers: Sequence[str], same_scope: float, other_scope: float
    ) -> SymbolMatch:
        quality = same_scope if self._is_in_scope(row, record, qualifiers) else other_scope
        if record["kind"] in _DEMOTED_KINDS:
            quality *= _DEMOTED_KIND_FACTOR
        return SymbolMatch(
            row=row,
            name=record["name"],
            qualified_name=record["qualified_name"],
            kind=record["kind"],
            start_line=record["start_line"],
            end_line=record["end_line"],
            quality=quality,
        )

    def _is_in_scope(self, row: int, record: SymbolRecord, qualifiers: Sequence[str]) -> bool:
        """Return whether the qualifiers are the declaration's own scopes, or its folders and file."""
        if not qualifiers:
            return True
        own_scopes = [fold_name(part) for part in split_qualified(record["qualified_name"])[:-1]]
        path_scopes = {fold_name(part) for part in self._get_path_scopes(row)}
        qualifier_folds = [fold_name(part) for part in qualifiers]
        if qualifier_folds[-1] in (own_scopes[-1:] or path_scopes):
            return True
        return qualifier_folds[-1] in own_scopes and all(
            part in own_scopes or part in path_scopes for part in qualifier_folds
        )
