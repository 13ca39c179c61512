"""Turn filters into a mask over chunks."""

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

_EXCLUDES = "!"
_NO_EXCLUDE = "\\!"  # begins the name of a file that begins with "!", as in git


def filter_values(filters: Filters, changed: Sequence[str] | None = None) -> FilterValues:
    """Return filters as plain values.

    Args:
        filters: What was asked for.
        changed: The paths that `Filters.changed_since` means; None if all files may be results.

    Raises:
        InvalidQueryError: A complexity below 0, or a range without anything in it.
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
            hint = "Give the least complexity, or the least and the most."
            raise InvalidQueryError(f"complexity {_range(bounds)} holds for nothing", hint=hint)
        values["complexity"] = bounds
    if changed is not None:
        values["changed"] = list(changed)
    return values


def _range(bounds: Sequence[int]) -> str:
    return "..".join(map(str, bounds))


def chunk_mask(corpus: Corpus, filters: FilterValues) -> NDArray[np.bool_] | None:
    """Return bool (n_chunks,), True for chunks that may be results; None if all may.

    Raises:
        InvalidQueryError: A language, kind or role that nothing in the index has; the message lists what there is.
    """
    masks = _place_masks(corpus, filters)
    if filters["kinds"]:
        masks.append(_having("kind", filters["kinds"], corpus.declared_kinds))
    if bounds := filters.get("complexity"):
        complexity = corpus.snapshot.chunks(["complexity"])["complexity"].to_numpy()
        masks.append((complexity >= bounds[0]) & (complexity <= bounds[-1] if len(bounds) > 1 else True))
    if (changed := filters.get("changed")) is not None:
        known = frozenset(changed)
        masks.append(np.fromiter((path in known for path in corpus.paths), bool, corpus.n_files)[corpus.file_of])
    return np.logical_and.reduce(masks) if masks else None


def related_mask(corpus: Corpus, filters: FilterValues) -> NDArray[np.bool_] | None:
    """Return bool (n_chunks,), True for chunks that may be shown as related to a result; None if all may.

    Filters that say where code is (path, language, role) hold for it as well. The others choose results, whose callers
    and types may be of another kind, simple, or unchanged.
    """
    masks = _place_masks(corpus, filters)
    return np.logical_and.reduce(masks) if masks else None


def passing(corpus: Corpus, filters: FilterValues, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates that may be results."""
    allowed = chunk_mask(corpus, filters) if candidates else None
    return [one for one in candidates if allowed is None or allowed[corpus.row_of[one["chunk_id"]]]]


def _place_masks(corpus: Corpus, filters: FilterValues) -> list[NDArray[np.bool_]]:
    columns = {"language": filters["languages"], "role": filters["roles"]}
    masks = [
        _having(name, wanted, [{value} for value in corpus.column(name)]) for name, wanted in columns.items() if wanted
    ]
    if filters["paths"]:
        matches = path_matcher(tuple(filters["paths"]))
        masks.append(np.fromiter((matches(path) for path in corpus.paths), bool, corpus.n_files)[corpus.file_of])
    return masks


def _having(name: str, wanted: Sequence[str], values: Sequence[Set[str]]) -> NDArray[np.bool_]:
    """Return which chunks have one of the wanted values; refuse a value that no chunk has."""
    check_present(name, wanted, set[str]().union(*values))
    return np.fromiter((not own.isdisjoint(wanted) for own in values), bool, len(values))


def check_present(name: str, wanted: Sequence[str], present: Set[str]) -> None:
    """Refuse a value that nothing in the index has.

    Raises:
        InvalidQueryError: There is such a value; the hint lists what there is.
    """
    if absent := sorted(set(wanted) - present):
        raise InvalidQueryError(
            f"nothing in the index has the {name} {absent[0]!r}", hint=f"There is: {', '.join(sorted(present))}."
        )


class _PathMatcher:
    def __init__(self, patterns: Sequence[str]) -> None:
        included = [pattern for pattern in patterns if not pattern.startswith(_EXCLUDES)] or ["."]
        self._included = _globs(included)
        self._excluded = _globs([pattern[1:] for pattern in patterns if pattern.startswith(_EXCLUDES)])

    def __call__(self, path: str) -> bool:
        return self._included.match(path) and not self._excluded.match(path)


def _globs(patterns: Sequence[str]) -> PathGlobs:
    return PathGlobs([pattern[1:] if pattern.startswith(_NO_EXCLUDE) else pattern for pattern in patterns])


@lru_cache(64)
def path_matcher(patterns: tuple[str, ...]) -> _PathMatcher:
    """Return a predicate over paths: a plain pattern is a file, a folder or a bare file name; others are globs.

    What matches a pattern behind ``!`` is left out; with nothing but such patterns all else matches.
    """
    return _PathMatcher(patterns)
