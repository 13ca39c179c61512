"""Masks over chunks from filters."""

from collections.abc import Collection, Mapping, Sequence, Set
from pathlib import Path
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from coderag.errors import InvalidQueryError
from coderag.retrieval.path_filter import build_path_matcher, to_index_pattern
from coderag.retrieval.unmatched_filters import build_absent_error
from coderag.schema.query import Candidate, FilterValues
from coderag.schema.search import Filters
from coderag.stores.corpus import Corpus

NO_FILTERS = FilterValues(languages=[], kinds=[], paths=[], roles=[])

_embedded_languages: "WeakKeyDictionary[Corpus, Mapping[int, frozenset[str]]]" = WeakKeyDictionary()
"""Languages embedded in the components and notebooks of a corpus, by file; read once, when a filter needs them."""


def to_filter_values(filters: Filters, changed: Sequence[str] | None = None, root: Path | None = None) -> FilterValues:
    """Convert filters to plain values.

    Args:
        filters: Filters of the caller.
        changed: Paths selected by `Filters.changed_since`; None if all files may be results.
        root: Folder of the repository, for absolute paths; None takes the paths as they are.

    Raises:
        InvalidQueryError: The complexity is negative, or its range is empty; or a path leads out of the repository.
    """
    values = FilterValues(
        languages=list(filters.languages),
        kinds=list(filters.kinds),
        paths=[to_index_pattern(path, root) if root else path for path in filters.paths],
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


def filter_candidates(
    corpus: Corpus, allowed: NDArray[np.bool_] | None, candidates: Sequence[Candidate]
) -> list[Candidate]:
    """Keep the candidates whose chunks a mask allows."""
    return [
        candidate for candidate in candidates if allowed is None or allowed[corpus.rows_by_id[candidate["chunk_id"]]]
    ]


def _build_location_masks(corpus: Corpus, filters: FilterValues) -> list[NDArray[np.bool_]]:
    """Build the masks of the filters by path, language and role, each of which matches something.

    Raises:
        InvalidQueryError: One matches nothing, or no file passes all.
    """
    masks: dict[str, NDArray[np.bool_]] = {}
    if filters["languages"]:
        masks["language"] = _build_language_mask(corpus, filters["languages"])
    if filters["roles"]:
        masks["role"] = _build_value_mask("role", filters["roles"], [{value} for value in corpus.get_column("role")])
    if filters["paths"]:
        matcher = build_path_matcher(tuple(filters["paths"]))
        matcher.check_matches(corpus.paths, corpus.snapshot.read_files)
        masks["path"] = np.fromiter(map(matcher, corpus.paths), bool, corpus.n_files)[corpus.chunk_files]
    if len(masks) > 1 and not np.logical_and.reduce(list(masks.values())).any():
        raise _build_disjoint_error(corpus, filters, masks)
    return list(masks.values())


def _build_disjoint_error(
    corpus: Corpus, filters: FilterValues, masks: Mapping[str, NDArray[np.bool_]]
) -> InvalidQueryError:
    """Build the error for filters that match something each, but nothing together."""
    values = {"language": filters["languages"], "role": filters["roles"], "path": filters["paths"]}
    counts = [
        f"{name} {', '.join(values[name])}: {len(np.unique(corpus.chunk_files[mask]))}" for name, mask in masks.items()
    ]
    return InvalidQueryError(
        "no indexed file passes all filters", hint=f"Files that match each filter: {'; '.join(counts)}."
    )


def _build_language_mask(corpus: Corpus, wanted: Sequence[str]) -> NDArray[np.bool_]:
    """Build a mask of chunks in files of some languages, or in components and notebooks with code in them."""
    from coderag.retrieval.language_filter import select_languages  # noqa: PLC0415  # reads the table of languages

    column = corpus.get_column("language")
    languages = [column[start] for start in corpus.file_starts.tolist()]
    chosen = select_languages(wanted, set(languages), lambda: _list_embedded(corpus))
    files = np.fromiter(map(chosen.is_matching, corpus.paths, languages), bool, corpus.n_files)
    for file, embedded in _read_embedded_languages(corpus).items():
        files[file] |= not embedded.isdisjoint(chosen.names)
    return files[corpus.chunk_files]


def _list_embedded(corpus: Corpus) -> Collection[str]:
    return frozenset[str]().union(*_read_embedded_languages(corpus).values())


def _read_embedded_languages(corpus: Corpus) -> Mapping[int, frozenset[str]]:
    """Return the languages embedded in each component and notebook, by file."""
    from coderag.retrieval.language_filter import (  # noqa: PLC0415  # as above
        CONTAINER_LANGUAGES,
        find_embedded_languages,
    )

    if (known := _embedded_languages.get(corpus)) is None:
        languages = corpus.get_column("language")
        starts = corpus.file_starts.tolist()
        files = [file for file, start in enumerate(starts) if languages[start] in CONTAINER_LANGUAGES]
        known = {
            file: find_embedded_languages(
                languages[starts[file]], "\n".join(corpus.read_texts(corpus.get_chunk_rows(file)))
            )
            for file in files
        }
        _embedded_languages[corpus] = known
    return known


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
        raise build_absent_error(name, absent[0], present)
