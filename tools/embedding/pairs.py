"""Mine pairs of (words, code) from a corpus, for train.py, as counts of terms of the vocabulary.

mining.py describes the pairs. Each pair has a query and three fields of code, body, names and path, as the engine counts
them. They are stored in compressed sparse rows, with the kind, language and package of each pair, so that packages can be
held out. Near-duplicates of an earlier pair of the same kind are dropped: pairs with the same smallest hashes of terms
(MinHash, Broder 1997), which copies with a few changed lines share.
"""

from array import array
from collections import Counter
from functools import partial
from multiprocessing import Pool
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from layout import CODE_FIELDS, KINDS, build_corpus_parser, list_package_folders
from mining import Code, mine_package
from vocabulary import read_vocabulary

from coderag.text.tokenizer import STOP_WORDS, expand_token, split_raw_tokens, tokenize_path

FIELDS = ("query", *CODE_FIELDS)

MAX_QUERY_TERMS = 48  # terms
_MAX_CODE_TERMS = 400  # terms
_MIN_QUERY_TERMS = 2
_MIN_CODE_TERMS = 5
_MAX_COUNT = 255
_SIGNATURE_HASHES = 6  # smallest hashes that identify near-duplicates
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


class Rows:
    """Growing term counts of texts, in compressed sparse rows."""

    def __init__(self) -> None:
        self.ids = array("I")
        self.counts = array("B")
        self.lengths = array("H")

    def append(self, counted: Counter[int]) -> None:
        """Add a text."""
        self.ids.extend(counted)
        self.counts.extend(min(count, _MAX_COUNT) for count in counted.values())
        self.lengths.append(len(counted))

    def extend(self, other: "Rows") -> None:
        """Add the texts of another object."""
        self.ids.extend(other.ids)
        self.counts.extend(other.counts)
        self.lengths.extend(other.lengths)

    def to_arrays(self, prefix: str) -> dict[str, np.ndarray]:
        """Return the arrays to save: ids, counts and row lengths."""
        return {
            f"{prefix}_ids": np.asarray(self.ids),
            f"{prefix}_counts": np.asarray(self.counts),
            f"{prefix}_lengths": np.asarray(self.lengths),
        }


class MinedPairs(NamedTuple):
    """Pairs of a package: fields by row, and the kind, language, chunk number and near-duplicate signature of each."""

    fields: tuple[Rows, Rows, Rows, Rows]
    kinds: list[int]
    languages: list[str]
    chunks: list[int]
    signatures: list[bytes]


class TermCounts:
    """Counter of the vocabulary's terms in texts."""

    def __init__(self, term_ids: dict[str, int]) -> None:
        self._term_ids = term_ids
        self._ids: dict[str, tuple[int, ...]] = {}  # cache by raw token

    def count(self, text: str, *, limit: int, ignored: frozenset[str] = frozenset()) -> Counter[int]:
        """Count the first ``limit`` terms of a text, without the raw tokens in ``ignored``."""
        ids: list[int] = []
        for raw in split_raw_tokens(text):
            if raw.lower() in ignored:
                continue
            known = self._ids.get(raw)
            if known is None:
                known = self._ids[raw] = tuple(
                    self._term_ids[term] for term in expand_token(raw) if term in self._term_ids
                )
            ids += known
            if len(ids) >= limit:
                break
        return Counter(ids[:limit])

    def count_path(self, path: str) -> Counter[int]:
        """Count the terms of a path."""
        return (
            Counter(self._term_ids[term] for term in tokenize_path(path) if term in self._term_ids)
            if path
            else Counter()
        )

    def count_body(self, code: Code) -> Counter[int]:
        """Count the terms of some code, without its hidden text and name."""
        counted = self.count(code.text, limit=_MAX_CODE_TERMS, ignored=frozenset({code.never.lower()}))
        return counted - self.count(code.without, limit=_MAX_CODE_TERMS) if code.without else counted


def mine(folder: Path, *, term_ids: dict[str, int]) -> MinedPairs:
    """Mine the pairs of a package."""
    mined = MinedPairs((Rows(), Rows(), Rows(), Rows()), [], [], [], [])
    counts = TermCounts(term_ids)
    chunk_numbers: dict[tuple[str, int], int] = {}
    for pair in mine_package(folder):
        query = counts.count(pair.query, limit=MAX_QUERY_TERMS, ignored=STOP_WORDS)
        body = counts.count_body(pair.code)
        if len(query) < _MIN_QUERY_TERMS or len(body) < _MIN_CODE_TERMS:
            continue
        names = counts.count(pair.code.names, limit=MAX_QUERY_TERMS)
        for rows, counted in zip(mined.fields, (query, body, names, counts.count_path(pair.code.path)), strict=True):
            rows.append(counted)
        mined.kinds.append(KINDS.index(pair.kind))
        mined.languages.append(pair.language)
        mined.chunks.append(chunk_numbers.setdefault(pair.code.chunk, len(chunk_numbers)))
        mined.signatures.append(compute_signature(body))
    return mined


def compute_signature(counted: Counter[int]) -> bytes:
    """Return the near-duplicate signature: the smallest hashes of the terms."""
    hashes = (np.fromiter(counted, np.uint64, len(counted)) + np.uint64(1)) * _MULTIPLIER
    hashes ^= hashes >> np.uint64(29)
    return np.sort(hashes * _MULTIPLIER)[:_SIGNATURE_HASHES].tobytes()


def main() -> None:
    """Run the command line."""
    parser = build_corpus_parser(__doc__)
    parser.add_argument("vocabulary", type=Path, help="table that vocabulary.py wrote")
    parser.add_argument("output", type=Path, help="npz file to write")
    arguments = parser.parse_args()

    term_ids = {entry.term: row for row, entry in enumerate(read_vocabulary(arguments.vocabulary)[1])}
    packages = list_package_folders(arguments.corpus)
    fields = tuple(Rows() for _ in FIELDS)
    is_kept: list[bool] = []
    kinds: list[int] = []
    languages: list[str] = []
    owners: list[int] = []
    chunks: list[int] = []
    seen: set[tuple[int, bytes]] = set()
    first_chunk = 0
    with Pool(arguments.processes) as pool:
        for package, mined in enumerate(pool.imap(partial(mine, term_ids=term_ids), packages)):
            for rows, more in zip(fields, mined.fields, strict=True):
                rows.extend(more)
            for key in zip(mined.kinds, mined.signatures, strict=True):
                is_kept.append(key not in seen)
                seen.add(key)
            kinds += mined.kinds
            languages += mined.languages
            owners += [package] * len(mined.kinds)
            chunks += [first_chunk + chunk for chunk in mined.chunks]
            first_chunk += max(mined.chunks, default=-1) + 1
            if package % 50 == 0:
                print(f"{package} of {len(packages)} packages, {len(kinds)} pairs", flush=True)
    names = sorted(set(languages))
    language_numbers = {name: number for number, name in enumerate(names)}
    arrays: dict[str, Any] = {
        **{
            key: array
            for prefix, rows in zip(FIELDS, fields, strict=True)
            for key, array in rows.to_arrays(prefix).items()
        },
        "rows": np.flatnonzero(is_kept),
        "kinds": np.array(kinds, np.uint8),
        "languages": np.array([language_numbers[language] for language in languages], np.uint8),
        "language_names": np.array(names),
        "chunks": np.array(chunks, np.uint32),
        "packages": np.array(owners, np.uint16),
        "package_names": np.array([f"{path.parent.name}/{path.name}" for path in packages]),
    }
    np.savez(arguments.output, **arrays)
    kept_kinds = Counter(KINDS[kinds[row]] for row in np.flatnonzero(is_kept))
    kept_languages = Counter(languages[row] for row in np.flatnonzero(is_kept))
    print(f"{sum(is_kept)} pairs kept of {len(kinds)}: {dict(kept_kinds)}")
    print(dict(kept_languages.most_common()))


if __name__ == "__main__":
    main()
