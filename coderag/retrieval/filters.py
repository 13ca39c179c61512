"""Masks over chunks from filters."""

from collections.abc import Sequence, Set
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from coderag.errors import InvalidQueryError
from coderag.retrieval.path_globs import PathGlobs
from coderag.schema.query import Candidate, FilterValues
from coderag.schema.search import Filters
from coderag.stores.corpus import Corpus

NO_FILTERS = FilterValues(languages=[], kinds=[], paths=[], roles=[])

_EXCLUDE_PREFIX = "!"
_ESCAPED_EXCLUDE_PREFIX = "\\!"  # escapes a leading "!" of a file name, as in git


def to_filter_values(filters: Filters, changed: Sequence[str] | None = None) -> FilterValues:
    """Convert filters to plain values.

    Args:
        filters: Filters of the caller.
        changed: Paths selected by `Filters.changed_since`; None if all files may be results.

    Raises:
        InvalidQueryError: The complexity is negative, or its range is empty.
    """
    values = FilterValues(
        languages=list(filters.languages),
        kinds=list(filters.kinds),
        paths=list(filters.paths),
        roles=list(filters.roles),
    )
    if filters.complexity:
        bounds = [filters.complexity] if isinstance(filters.complexity, int) else list(filters.complexity)
        if bounds[0] < 0 or bounds[-1] < bounds[0]:
            hint = "Give the minimum complexity, or the minimum and the maximum."
            raise InvalidQueryError(f"complexity {_format_range(bounds)} is not a valid range", hint=hint)
        values["complexity"] = bounds
    if changed is not None:
        values["changed"] = list(changed)
    return values


def _format_range(bounds: Sequence[int]) -> str:
    return "..".join(map(str, bounds))


def build_chunk_mask(corpus: Corpus, filters: FilterValues) -> NDArray[np.bool_] | None:
    """Build a bool mask (n_chunks,) of chunks that may be results; None if all may.

    Raises:
        InvalidQueryError: Nothing in the index has the language, kind or role; the hint lists valid ones.
    """
    masks = _build_location_masks(corpus, filters)
    if filters["kinds"]:
        masks.append(_build_value_mask("kind", filters["kinds"], corpus.declared_kinds))
    if bounds := filters.get("complexity"):
        complexity = corpus.snapshot.read_chunks(["complexity"])["complexity"].to_numpy()
        masks.append((complexity >= bounds[0]) & (complexity <= bounds[-1] if len(bounds) > 1 else True))
    if (changed := filters.get("changed")) is not None:
        changed_paths = frozenset(changed)
        masks.append(
            np.fromiter((path in changed_paths for path in corpus.paths), bool, corpus.n_files)[corpus.chunk_files]
        )
    return np.logical_and.reduce(masks) if masks else None


def build_related_mask(corpus: Corpus, filters: FilterValues) -> NDArray[np.bool_] | None:
    """Build a bool mask (n_chunks,) of chunks that may be shown as related code; None if all may.

    Location filters (path, language, role) apply to it. The others select results only: their callers and types may
    be of another kind, simple, or unchanged.
    """
    masks = _build_location_masks(corpus, filters)
    return np.logical_and.reduce(masks) if masks else None


def filter_candidates(corpus: Corpus, filters: FilterValues, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Keep the candidates that may be results."""
    allowed = build_chunk_mask(corpus, filters) if candidates else None
    return [
        candidate for candidate in candidates if allowed is None or allowed[corpus.rows_by_id[candidate["chunk_id"]]]
    ]


def _build_location_masks(corpus: Corpus, filters: FilterValues) -> list[NDArray[np.bool_]]:
    columns = {"language": filters["languages"], "role": filters["roles"]}
    masks = [
        _build_value_mask(name, wanted, [{value} for value in corpus.get_column(name)])
        for name, wanted in columns.items()
        if wanted
    ]
    if filters["paths"]:
        matches = build_path_matcher(tuple(filters["paths"]))
        masks.append(np.fromiter((matches(path) for path in corpus.paths), bool, corpus.n_files)[corpus.chunk_files])
    return masks


def _build_value_mask(name: str, wanted: Sequence[str], values: Sequence[Set[str]]) -> NDArray[np.bool_]:
    """Build a mask of chunks with one of the wanted values; reject a value that no chunk has."""
    check_values_present(name, wanted, set[str]().union(*values))
    return np.fromiter((not chunk_values.isdisjoint(wanted) for chunk_values in values), bool, len(values))


def check_values_present(name: str, wanted: Sequence[str], present: Set[str]) -> None:
    """Reject a value that nothing in the index has.

    Raises:
        InvalidQueryError: A value is absent; the hint lists the present ones.
    """
    if absent := sorted(set(wanted) - present):
        raise InvalidQueryError(
            f"nothing in the index has the {name} {absent[0]!r}", hint=f"Available: {', '.join(sorted(present))}."
        )


class _PathMatcher:
    def __init__(self, patterns: Sequence[str]) -> None:
        included = [pattern for pattern in patterns if not pattern.startswith(_EXCLUDE_PREFIX)] or ["."]
        self._included = _build_globs(included)
        self._excluded = _build_globs([pattern[1:] for pattern in patterns if pattern.startswith(_EXCLUDE_PREFIX)])

    def __call__(self, path: str) -> bool:
        return self._included.matches(path) and not self._excluded.matches(path)


def _build_globs(patterns: Sequence[str]) -> PathGlobs:
    return PathGlobs([pattern[1:] if pattern.startswith(_ESCAPED_EXCLUDE_PREFIX) else pattern for pattern in patterns])


@lru_cache(64)
def build_path_matcher(patterns: tuple[str, ...]) -> _PathMatcher:
    """Build a predicate over paths: a plain pattern is a file, a folder or a bare file name; others are globs.

    Patterns after ``!`` exclude; with only such patterns, everything else matches.
    """
    return _PathMatcher(patterns)
