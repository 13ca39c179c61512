"""Find what a report is about: its own channels and weights, for declarations rather than files.

``chunk = Σ weight · channel`` and ``file = best chunk + Σ weight · signal``, both divided by their maximum.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coderag.retrieval.channels import Channel, normalize_scores, subtract_background
from coderag.retrieval.report_places import Called, Places
from coderag.schema.query import Analysis, ReportQuery
from coderag.stores.corpus import Corpus, compute_dot_products
from coderag.stores.lexical import LexicalIndex
from coderag.stores.path_index import split_question

FloatArray = NDArray[np.float32]

CHUNK_WEIGHTS = {"lexical": 1.5, "dense": 0.6, "names": 0.4, "mentions": 1.0, "frames": 1.5}
FILE_WEIGHTS = {
    "dense_file": 0.3,
    "dense_path": 0.4,
    "docs": 0.15,
    "file_name": 0.4,
    "folder_name": 0.2,
    "mentioned_path": 0.8,
    "frame_files": 0.4,
    "centrality": 0.1,
}
"""Share of each channel, hand-set on reports of five projects and checked on seven others: ``docs/reports.md``."""


@dataclass(frozen=True, slots=True)
class FusedScores:
    """Fused float32 scores, 0 to 1: ``chunks`` (n_chunks,) and ``files`` (n_files,)."""

    chunks: FloatArray
    files: FloatArray


_NEIGHBOUR_SHARE = 0.2  # of a caller's or callee's score
_FRAME_DECAY = 0.75  # for each step away from the call that failed
KIND_FACTORS = {"function": 1.0, "method": 1.0, "module": 0.5, "section": 0.5, "key": 0.5, "rule": 0.5}
_OTHER_KIND = 0.8  # classes and values: what is to be edited is mostly in a function


def report_channels(
    corpus: Corpus, analysis: Analysis, report: ReportQuery, vector: FloatArray, disabled: Sequence[str]
) -> list[Channel]:
    """Return the scores of every channel that is not disabled, each 0 to 1.

    Args:
        corpus: The open index.
        analysis: Of the report; its question is the title.
        report: What to search for.
        vector: float32 (dimension,), of title and prose.
        disabled: Names of channels to leave out.
    """
    places = Places(corpus)
    called = places.called(report["frames"])
    words = split_question(analysis["question"])
    terms = [*analysis["terms"], *analysis["expanded_terms"]]
    chunks = {
        "lexical": _weighted(corpus, corpus.body, report["terms"]),
        "dense": subtract_background(corpus.compute_cosines(vector)),
        "names": _weighted(corpus, corpus.names, report["name_terms"]),
        "mentions": _mentions(corpus, report["names"]),
        "frames": _calls(corpus.n_chunks, [(call.row, step) for step, call in enumerate(called)]),
    }
    files = {
        "dense_file": compute_dot_products(corpus.file_vectors, vector),
        "dense_path": compute_dot_products(corpus.path_vectors, vector),
        "docs": corpus.docs.score(corpus.get_term_ids(terms)),
        "file_name": corpus.path_index.compute_stem_coverage(words),
        "folder_name": corpus.path_index.compute_folder_share(words),
        "mentioned_path": _calls(corpus.n_files, [(places.file_of(path), 0) for path in report["paths"]]),
        "frame_files": _frame_files(corpus.n_files, called),
        "centrality": np.sqrt(corpus.file_centrality),
    }
    absolute = frozenset({"mentions", "file_name", "folder_name"})  # shares already: the best may be a poor one
    found = [
        *(Channel(name, "chunk", values, CHUNK_WEIGHTS[name]) for name, values in chunks.items()),
        *(Channel(name, "file", values, FILE_WEIGHTS[name]) for name, values in files.items()),
    ]
    return [
        Channel(one.name, one.level, one.values if one.name in absolute else normalize_scores(one.values), one.weight)
        for one in found
        if one.name not in disabled
    ]


def fuse_report(corpus: Corpus, channels: Sequence[Channel], disabled: Sequence[str] = ()) -> FusedScores:
    """Return the weighted sums of the channels, divided by their maximum; the best chunk has its part in its file.

    A chunk also has a share of its best caller's and its best callee's score.
    """
    chunks = np.zeros(corpus.n_chunks, np.float32)
    files = np.zeros(corpus.n_files, np.float32)
    for channel in channels:
        target = chunks if channel.level == "chunk" else files
        target += np.float32(channel.weight) * channel.values
    chunks = normalize_scores(chunks) * _kind_factors(corpus)
    rows, edges = np.arange(corpus.n_chunks), corpus.chunk_edges
    callers = 0.0 if "callers" in disabled else edges.find_best_user(chunks, rows)
    callees = 0.0 if "callees" in disabled else edges.find_best_used(chunks, rows)
    chunks = normalize_scores(chunks + np.float32(_NEIGHBOUR_SHARE) * (callers + callees))
    return FusedScores(chunks=chunks, files=normalize_scores(files + corpus.compute_file_max(chunks)))


def _weighted(corpus: Corpus, index: LexicalIndex, weights: Mapping[str, float]) -> FloatArray:
    known = [(corpus.term_ids[term], weight) for term, weight in weights.items() if term in corpus.term_ids]
    return index.score([term for term, _ in known], [weight for _, weight in known])


def _mentions(corpus: Corpus, names: Mapping[str, float]) -> FloatArray:
    """Return for each chunk how well it declares what the report names: a name that many declare says little."""
    scores = np.zeros(corpus.n_chunks, np.float32)
    for name, weight in names.items():
        matches = corpus.symbols.find(name)
        share = weight / (1 + np.log(max(len({match.row for match in matches}), 1)))
        for match in matches:
            scores[match.row] += match.quality * share
    return np.minimum(scores, np.float32(1.0))


def _calls(size: int, found: Sequence[tuple[int | None, int]]) -> FloatArray:
    """Return 1 for what was called last, less for each step before."""
    scores = np.zeros(size, np.float32)
    for position, step in found:
        if position is not None:
            scores[position] = max(scores[position], _FRAME_DECAY**step)
    return scores


def _frame_files(size: int, called: Sequence[Called]) -> FloatArray:
    return _calls(size, [(call.file, step) for step, call in enumerate(called)])


def _kind_factors(corpus: Corpus) -> FloatArray:
    return np.asarray([KIND_FACTORS.get(kind, _OTHER_KIND) for kind in corpus.get_column("kind")], np.float32)
