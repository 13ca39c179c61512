"""Turn filters into a mask over chunks."""

import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from coderag.errors import InvalidQueryError
from coderag.state import Candidate, FilterValues
from coderag.stores.corpus import Corpus

NO_FILTERS = FilterValues(languages=[], kinds=[], paths=[], roles=[])


def chunk_mask(corpus: Corpus, filters: FilterValues) -> NDArray[np.bool_] | None:
    """Return bool (n_chunks,), True for chunks that may be results; None if all may.

    Raises:
        InvalidQueryError: A language, kind or role that nothing in the index has; the message lists what there is.
    """
    for column, wanted in (("language", filters["languages"]), ("kind", filters["kinds"]), ("role", filters["roles"])):
        _check(column, wanted, set(corpus.column(column)) if wanted else set())
    masks = [
        np.isin(np.asarray(corpus.column(column), dtype=object), list(wanted))
        for column, wanted in (
            ("language", filters["languages"]),
            ("kind", filters["kinds"]),
            ("role", filters["roles"]),
        )
        if wanted
    ]
    if filters["paths"]:
        matches = path_matcher(tuple(filters["paths"]))
        masks.append(np.fromiter((matches(path) for path in corpus.paths), bool, corpus.n_files)[corpus.file_of])
    return np.logical_and.reduce(masks) if masks else None


def passing(corpus: Corpus, filters: FilterValues, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates that may be results."""
    allowed = chunk_mask(corpus, filters) if candidates else None
    return [one for one in candidates if allowed is None or allowed[corpus.row_of[one["chunk_id"]]]]


def _check(column: str, wanted: Sequence[str], present: set[str]) -> None:
    if absent := sorted(set(wanted) - present):
        raise InvalidQueryError(
            f"nothing in the index has the {column} {absent[0]!r}", hint=f"There is: {', '.join(sorted(present))}."
        )


class _PathMatcher:
    def __init__(self, patterns: Sequence[str]) -> None:
        self._regex = re.compile("|".join(f"(?:{_regex(pattern)})" for pattern in patterns))

    def __call__(self, path: str) -> bool:
        return self._regex.fullmatch(path) is not None


@lru_cache(64)
def path_matcher(patterns: tuple[str, ...]) -> _PathMatcher:
    """Return a predicate over paths: a plain pattern is a file, a folder or a bare file name; others are globs."""
    return _PathMatcher(patterns)


def _regex(pattern: str) -> str:
    """Translate one pattern: ``*`` and ``?`` stay within a folder, ``**`` crosses folders."""
    pattern = pattern.removeprefix("./").strip("/")
    if pattern in ("", "."):
        return ".*"  # the repository itself
    tokens = {"**/": r"(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    body = "".join(tokens.get(part, re.escape(part)) for part in re.split(r"(\*\*/|\*\*|\*|\?)", pattern))
    anywhere = "" if "/" in pattern else r"(?:.*/)?"  # a pattern without a folder matches at any depth, as in git
    return rf"{anywhere}{body}(?:/.*)?"
