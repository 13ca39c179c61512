"""Turn filters into a mask over chunks."""

import re
from collections.abc import Sequence, Set
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
    columns = {"language": filters["languages"], "kind": filters["kinds"], "role": filters["roles"]}
    masks = [_having(name, wanted, _values(corpus, name)) for name, wanted in columns.items() if wanted]
    if filters["paths"]:
        matches = path_matcher(tuple(filters["paths"]))
        masks.append(np.fromiter((matches(path) for path in corpus.paths), bool, corpus.n_files)[corpus.file_of])
    return np.logical_and.reduce(masks) if masks else None


def passing(corpus: Corpus, filters: FilterValues, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates that may be results."""
    allowed = chunk_mask(corpus, filters) if candidates else None
    return [one for one in candidates if allowed is None or allowed[corpus.row_of[one["chunk_id"]]]]


def _values(corpus: Corpus, name: str) -> Sequence[Set[str]]:
    """Return for each chunk what it has of a column; of kinds also those of the declarations in it."""
    return corpus.declared_kinds if name == "kind" else [{value} for value in corpus.column(name)]


def _having(name: str, wanted: Sequence[str], values: Sequence[Set[str]]) -> NDArray[np.bool_]:
    """Return which chunks have one of the wanted values; refuse a value that no chunk has."""
    present = set[str]().union(*values)
    if absent := sorted(set(wanted) - present):
        raise InvalidQueryError(
            f"nothing in the index has the {name} {absent[0]!r}", hint=f"There is: {', '.join(sorted(present))}."
        )
    return np.fromiter((not own.isdisjoint(wanted) for own in values), bool, len(values))


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
