"""Judge whether the results answer the question: found, weak, not found, or unknown because files were not indexed.

A logistic model over a few readable features; its weights and thresholds are data (``calibration.toml``), how they were
fitted and how well they do is in ``docs/calibration.md``.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from math import exp, log

import numpy as np
from numpy.typing import NDArray

from coderag.retrieval.channels import find_symbols
from coderag.retrieval.report_places import Places
from coderag.retrieval.unindexed import unindexed_about
from coderag.schema.query import Analysis, Candidate, Judgement
from coderag.schema.vocabulary import RESOLVED, Evidence
from coderag.stores.corpus import Corpus

FEATURES = ("words_in_files", "words_in_results", "likeness", "unknown_words", "smallness")

_RESULTS = 5
_EXACT = 0.99
_SEVERAL = 2  # calls of a stack trace
_LARGE = 1_000  # chunks, from which on a repository has most words that its questions use
_ASKED_OF_GRAPH = frozenset({"find_usage", "hierarchy", "find_tests"})
_WHOLE_NAME = "="  # begins the term of a whole identifier, whose parts are terms too


@dataclass(frozen=True, slots=True)
class Calibration:
    """A fitted model.

    Attributes:
        weights: Of the features, by name.
        weak_below, not_found_below: Probabilities.
    """

    bias: float
    weights: Mapping[str, float]
    weak_below: float
    not_found_below: float

    def probability(self, features: Mapping[str, float]) -> float:
        """Return how likely the repository answers the question, were half of all questions answerable."""
        return 1 / (1 + exp(-(self.bias + sum(weight * features[name] for name, weight in self.weights.items()))))

    def verdict(self, probability: float) -> Evidence:
        """Return what to call it."""
        if probability < self.not_found_below:
            return "not_found"
        return "weak" if probability < self.weak_below else "found"


@cache
def calibrations() -> Mapping[str, Calibration]:
    """Return the shipped models: ``embedded``, and ``other`` for all other embedding models."""
    text = (resources.files("coderag.retrieval") / "calibration.toml").read_text(encoding="utf-8")
    return {
        name: Calibration(
            bias=table["bias"],
            weights={feature: table[feature] for feature in FEATURES if feature in table},
            weak_below=table["weak_below"],
            not_found_below=table["not_found_below"],
        )
        for name, table in tomllib.loads(text).items()
    }


def judge(corpus: Corpus, analysis: Analysis, results: Sequence[Candidate], vector: NDArray[np.float32]) -> Judgement:
    """Return how well the results answer the question.

    Args:
        corpus: The open index.
        analysis: What the question asks for.
        results: Ranked results, best first.
        vector: float32 (dimension,), the question's dense vector, normalised or zero.
    """
    features = evidence_features(corpus, analysis, results, vector)
    if _is_looked_up(analysis, results) or _has_run_here(corpus, analysis, results):
        return Judgement(verdict="found", confidence=1.0, features=features, not_indexed=[])
    embedded = corpus.snapshot.pointer.embedding.provider == "embedded"
    model = calibrations()["embedded" if embedded else "other"]
    nowhere = not results or _is_place(analysis)  # a place that was not looked up is none
    confidence = 0.0 if nowhere else model.probability(features)
    verdict = "not_found" if nowhere else model.verdict(confidence)
    if verdict == "not_found" and not nowhere and _is_nearly_named(corpus, analysis, results):
        verdict = "weak"
    not_indexed = unindexed_about(corpus, analysis) if verdict != "found" else []
    return Judgement(
        verdict="unknown" if not_indexed else verdict,
        confidence=round(confidence, 3),
        features={name: round(value, 3) for name, value in features.items()},
        not_indexed=not_indexed,
    )


def _is_looked_up(analysis: Analysis, results: Sequence[Candidate]) -> bool:
    """Whether the symbol table or the code graph knows the answer."""
    known = RESOLVED if analysis["intent"] in _ASKED_OF_GRAPH else _EXACT
    return any(result["channels"].get("lookup", 0.0) >= known for result in results)


def _has_run_here(corpus: Corpus, analysis: Analysis, results: Sequence[Candidate]) -> bool:
    """Whether the stack trace of a report ran through declarations of the repository, of which one is among the first results.

    All calls of the trace are that surely, or several: one among others may be in a file of the same name elsewhere.
    """
    frames = analysis["report"]["frames"] if analysis["report"] else []
    called = [one.row for one in Places(corpus).called(frames) if one.row is not None] if frames else []
    first = {corpus.row_of[result["chunk_id"]] for result in results[:_RESULTS]}
    return len(called) >= min(len(frames), _SEVERAL) and not first.isdisjoint(called)


def _is_place(analysis: Analysis) -> bool:
    """Whether nothing but a place is asked for, as in ``path:line``."""
    kinds = {entity["kind"] for entity in analysis["entities"]}
    return analysis["intent"] == "find_definition" and bool(kinds) and kinds <= {"location", "path"}


def _is_nearly_named(corpus: Corpus, analysis: Analysis, results: Sequence[Candidate]) -> bool:
    """Whether the first result declares a name that may be meant by one that the question has."""
    rows = {match.row for match in find_symbols(corpus, analysis)}
    return bool(results) and corpus.row_of[results[0]["chunk_id"]] in rows


def evidence_features(
    corpus: Corpus, analysis: Analysis, results: Sequence[Candidate], vector: NDArray[np.float32]
) -> dict[str, float]:
    """Return what the verdict is told from, by name, each from 0 to 1; all 0 without results.

    ``words_in_files``: share of the question's words, each weighted by its rarity, that the files of the first results have
    between them; ``words_in_results``: that the results themselves have, on average; ``unknown_words``: that the repository
    does not have at all. ``likeness``: cosine of the question with the result that is most like it. ``smallness``: of the
    repository; one with few words lacks many of a question that it answers.
    """
    rows = np.asarray([corpus.row_of[result["chunk_id"]] for result in results[:_RESULTS]], np.int64)
    if not len(rows):
        return dict.fromkeys(FEATURES, 0.0)
    files = np.unique(corpus.file_of[rows])
    spans = np.asarray([(span.start, span.stop) for span in map(corpus.chunk_rows, files.tolist())]).T
    total = known = unknown = in_files = in_results = 0.0
    for term in dict.fromkeys(analysis["terms"]):
        holders, rarity = corpus.chunks_with(term), corpus.rarity(term)
        total += rarity
        if not term.startswith(_WHOLE_NAME):
            known += rarity if len(holders) else 0.0
            unknown += 0.0 if len(holders) else rarity
        if len(holders):
            before, after = np.searchsorted(holders, spans)
            in_files += rarity * bool((after > before).any())
            in_results += rarity * float((holders.take(np.searchsorted(holders, rows), mode="clip") == rows).mean())
    return {
        "words_in_files": in_files / total if total else 0.0,
        "words_in_results": in_results / total if total else 0.0,
        "likeness": max(0.0, float((corpus.vectors[rows] @ vector).max())),
        "unknown_words": unknown / (known + unknown) if known + unknown else 0.0,
        "smallness": max(0.0, 1 - log(corpus.n_chunks, _LARGE)),
    }
