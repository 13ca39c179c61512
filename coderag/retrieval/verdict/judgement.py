"""Verdict on the results: found, weak, not found, or unknown because files are not indexed.

A logistic model over a few readable features. Its weights and thresholds are data (``calibration.toml``);
``docs/calibration.md`` describes the fit and its quality.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from math import exp, log
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from coderag.retrieval.channels import find_symbols
from coderag.retrieval.report_places import Places
from coderag.retrieval.verdict.literal_evidence import adjust_to_literals, has_literal_answer
from coderag.retrieval.verdict.unindexed_files import find_unindexed_files
from coderag.schema.query import Analysis, Candidate, Judgement
from coderag.schema.vocabulary import MIN_RESOLVED_CONFIDENCE, Evidence
from coderag.stores.corpus import Corpus

FEATURE_NAMES = ("words_in_files", "words_in_results", "likeness", "unknown_words", "smallness")

_MAX_JUDGED_RESULTS = 5
_MIN_EXACT_SCORE = 0.99
_MIN_MATCHED_FRAMES = 2  # frames of a stack trace
_LARGE_REPOSITORY_CHUNKS = 1_000  # chunks; a larger repository has most words of its questions
_GRAPH_INTENTS = frozenset({"find_usage", "hierarchy", "find_tests"})
_WHOLE_IDENTIFIER_PREFIX = "="  # marks the term of a whole identifier, whose parts are terms as well


@dataclass(frozen=True, slots=True)
class Calibration:
    """Fitted logistic model.

    Attributes:
        weights: Weights of the features, by name.
        weak_below, not_found_below: Thresholds on the probability.
    """

    bias: float
    weights: Mapping[str, float]
    weak_below: float
    not_found_below: float

    def compute_probability(self, features: Mapping[str, float]) -> float:
        """Compute the probability that the repository answers the question, at even odds."""
        return 1 / (1 + exp(-(self.bias + sum(weight * features[name] for name, weight in self.weights.items()))))

    def classify(self, probability: float) -> Evidence:
        """Return the verdict for a probability."""
        if probability < self.not_found_below:
            return "not_found"
        return "weak" if probability < self.weak_below else "found"


@cache
def load_calibrations() -> Mapping[str, Calibration]:
    """Load the shipped models: ``embedded``, and ``other`` for all other embedding models."""
    text = (resources.files("coderag.retrieval") / "calibration.toml").read_text(encoding="utf-8")
    return {
        name: Calibration(
            bias=table["bias"],
            weights={feature: table[feature] for feature in FEATURE_NAMES if feature in table},
            weak_below=table["weak_below"],
            not_found_below=table["not_found_below"],
        )
        for name, table in tomllib.loads(text).items()
    }


def judge(
    root: Path, corpus: Corpus, analysis: Analysis, results: Sequence[Candidate], vector: NDArray[np.float32]
) -> Judgement:
    """Judge how well the results answer the question.

    Args:
        root: Folder of the repository, where names that the index lacks are looked up in the text that it lacks.
        corpus: The open index.
        analysis: Analysis of the question.
        results: Ranked results, best first.
        vector: float32 (dimension,), dense vector of the question, normalised or zero.
    """
    features = compute_features(corpus, analysis, results, vector)
    has_literal = has_literal_answer(analysis, results)
    if (
        (has_literal and analysis["literal_query"])
        or _has_lookup_answer(analysis, results)
        or _matches_stack_trace(corpus, analysis, results)
    ):
        return Judgement(verdict="found", confidence=1.0, features=features, not_indexed=[])
    is_embedded = corpus.snapshot.pointer.embedding.provider == "embedded"
    calibration = load_calibrations()["embedded" if is_embedded else "other"]
    is_absent = _asks_for_location(analysis)  # a location that was not looked up does not exist
    has_no_answer = not results or is_absent or features["unknown_words"] == 1.0  # no word of it is anywhere
    confidence = 0.0 if has_no_answer else calibration.compute_probability(features)
    verdict = "not_found" if has_no_answer else calibration.classify(confidence)
    if not has_no_answer:
        verdict = adjust_to_literals(verdict, analysis, has_literal=has_literal)
    is_translated = analysis["human_language"] != "en"  # word by word, which proves nothing absent
    is_doubtful = is_translated or (bool(results) and _has_similar_name(corpus, analysis, results))
    if verdict == "not_found" and not is_absent and is_doubtful:
        verdict = "weak"
    not_indexed: list[str] = []
    if verdict != "found":
        missing_names = () if has_literal else analysis["literals"]
        not_indexed = find_unindexed_files(root, corpus, analysis, missing_names)
    return Judgement(
        verdict="unknown" if not_indexed else verdict,
        confidence=round(confidence, 3),
        features={name: round(value, 3) for name, value in features.items()},
        not_indexed=not_indexed,
    )


def _has_lookup_answer(analysis: Analysis, results: Sequence[Candidate]) -> bool:
    """Return whether the symbol table or the code graph has the answer."""
    min_score = MIN_RESOLVED_CONFIDENCE if analysis["intent"] in _GRAPH_INTENTS else _MIN_EXACT_SCORE
    return any(result["channels"].get("lookup", 0.0) >= min_score for result in results)


def _matches_stack_trace(corpus: Corpus, analysis: Analysis, results: Sequence[Candidate]) -> bool:
    """Return whether the report's stack trace ran through declarations of the repository and of the first results.

    All frames must match, or several: a single one may belong to a file of the same name elsewhere.
    """
    frames = analysis["report"]["frames"] if analysis["report"] else []
    called_rows = [call.row for call in Places(corpus).called(frames) if call.row is not None] if frames else []
    result_rows = {corpus.rows_by_id[result["chunk_id"]] for result in results[:_MAX_JUDGED_RESULTS]}
    return len(called_rows) >= min(len(frames), _MIN_MATCHED_FRAMES) and not result_rows.isdisjoint(called_rows)


def _asks_for_location(analysis: Analysis) -> bool:
    """Return whether only a location is asked for, as in ``path:line``."""
    kinds = {entity["kind"] for entity in analysis["entities"]}
    return analysis["intent"] == "find_definition" and bool(kinds) and kinds <= {"location", "path"}


def _has_similar_name(corpus: Corpus, analysis: Analysis, results: Sequence[Candidate]) -> bool:
    """Return whether the first result declares a name similar to one in the question."""
    rows = {match.row for match in find_symbols(corpus, analysis)}
    return bool(results) and corpus.rows_by_id[results[0]["chunk_id"]] in rows


def compute_features(
    corpus: Corpus, analysis: Analysis, results: Sequence[Candidate], vector: NDArray[np.float32]
) -> dict[str, float]:
    """Compute the features of the verdict by name, each 0 to 1; all 0 without results.

    ``words_in_files``: share of question terms, weighted by IDF, in the files of the first results together;
    ``words_in_results``: average share in the results themselves; ``unknown_words``: share of those absent from the
    repository. ``likeness``: highest cosine of a result with the question. ``smallness``: of the repository, as a
    small one lacks many words of questions that it answers.
    """
    rows = np.asarray([corpus.rows_by_id[result["chunk_id"]] for result in results[:_MAX_JUDGED_RESULTS]], np.int64)
    if not len(rows):
        return dict.fromkeys(FEATURE_NAMES, 0.0)
    files = np.unique(corpus.chunk_files[rows])
    spans = np.asarray([(span.start, span.stop) for span in map(corpus.get_chunk_rows, files.tolist())]).T
    total_idf = known_idf = unknown_idf = file_idf = result_idf = 0.0
    for term in dict.fromkeys(analysis["terms"]):
        holders, idf = corpus.find_chunks_with_term(term), corpus.idf(term)
        total_idf += idf
        if not term.startswith(_WHOLE_IDENTIFIER_PREFIX):
            known_idf += idf if len(holders) else 0.0
            unknown_idf += 0.0 if len(holders) else idf
        if len(holders):
            span_starts, span_ends = np.searchsorted(holders, spans)
            file_idf += idf * bool((span_ends > span_starts).any())
            result_idf += idf * float((holders.take(np.searchsorted(holders, rows), mode="clip") == rows).mean())
    return {
        "words_in_files": file_idf / total_idf if total_idf else 0.0,
        "words_in_results": result_idf / total_idf if total_idf else 0.0,
        "likeness": max(0.0, float((corpus.vectors[rows] @ vector).max())),
        "unknown_words": unknown_idf / (known_idf + unknown_idf) if known_idf + unknown_idf else 0.0,
        "smallness": max(0.0, 1 - log(corpus.n_chunks, _LARGE_REPOSITORY_CHUNKS)),
    }
