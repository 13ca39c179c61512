"""Rank candidates by the named signals and choose the results: which declarations, and how many of one file."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from coderag.config.sections import SearchSettings
from coderag.retrieval.merging import POOL, merge_results
from coderag.retrieval.report_ranking import report_scores
from coderag.retrieval.shapes import REPORT, Scored, Shape, shape_of
from coderag.retrieval.signals import Question, file_scores
from coderag.schema.query import Analysis, Candidate
from coderag.stores.corpus import Corpus

FloatArray = NDArray[np.float32]

_COHERENCE_CHUNKS = 50
_RESOLVED = 0.5  # confidence from which the code graph's word is taken
_KNOWN_ANSWER = 30.0  # what is known comes before what is alike, and what is nearer before what is better named
_CERTAIN = 1.0  # the declaration of exactly the name that was asked for
_DECLARED = 0.5  # so much it counts more, lest a file that is only named like it come first
# A context may show much of one file: what answers is often there, and its further results are the next best place.
_DECAY_TO_READ, _TIMES_TO_READ = 0.85, 4
_KNOWN_DECAY = 0.99  # for each further one of a file: of equally near ones, those of other files come first


KIND_FACTORS = {"module": 0.8}
"""How far chunks step back within their file: imports have many of its words and explain none."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """Candidates by their scores, from which results are chosen.

    Attributes:
        scored: Best first.
        shares: What each signal added to each file's score.
        shape: How results are chosen.
        max_per_file: Results of one file in a list, at most.
    """

    corpus: Corpus
    scored: list[Scored]
    shares: dict[str, FloatArray]
    shape: Shape
    max_per_file: int

    def best(self, top_k: int) -> list[Candidate]:
        """Return a list of results, best first: few of one file."""
        return self._chosen(self.shape, self.shape.max_per_file or self.max_per_file, top_k)

    def best_to_read(self, top_k: int) -> list[Candidate]:
        """Return what a context shows first: as many of one file as are good."""
        most = self.shape.max_per_file or _TIMES_TO_READ * self.max_per_file
        decay = max(self.shape.same_file_decay, _DECAY_TO_READ)
        return self._chosen(replace(self.shape, same_file_decay=decay), most, top_k)

    def _chosen(self, shape: Shape, max_per_file: int, top_k: int) -> list[Candidate]:
        chosen = _spread(self.corpus, self.scored, shape, max_per_file, POOL * top_k)
        pool = [one.candidate for one in self.scored[: POOL * top_k]]
        merged = merge_results(self.corpus, chosen, pool, top_k)
        return [_explained(self.corpus, result, self.shares) for result in merged]


def rank(
    corpus: Corpus, query: str, analysis: Analysis, candidates: Sequence[Candidate], settings: SearchSettings
) -> Ranking:
    """Return the ranking of candidates.

    Args:
        corpus: The open index.
        query: The question as asked.
        analysis: What it asks for.
        candidates: From `retrieve` and from the look-up.
        settings: Which signals are off, and how many results one file may have.
    """
    if not candidates:
        return Ranking(corpus, [], {}, REPORT, settings.max_per_file)
    if report := analysis["report"]:
        shape = REPORT
        scored, shares = report_scores(corpus, analysis, report, candidates, settings.disabled_signals)
    else:
        shape = shape_of(analysis["intent"])
        scored, shares = _question_scores(corpus, query, analysis, candidates, settings, shape)
    return Ranking(corpus, scored, shares, shape, settings.max_per_file)


def _question_scores(
    corpus: Corpus,
    query: str,
    analysis: Analysis,
    candidates: Sequence[Candidate],
    settings: SearchSettings,
    shape: Shape,
) -> tuple[list[Scored], dict[str, FloatArray]]:
    """Return the candidates with their scores, best first, and what each signal added to each file's score."""
    rows = [corpus.row_of[candidate["chunk_id"]] for candidate in candidates]
    question = Question.of(corpus, query, analysis, _lexically_best(candidates, rows))
    fused = np.zeros(corpus.n_files, np.float32)
    np.maximum.at(fused, corpus.file_of[rows], [candidate["file_score"] for candidate in candidates])
    by_file, shares = file_scores(corpus, question, fused, settings.disabled_signals, settings.weights)
    kinds = corpus.column("kind")
    looked_up = np.array([candidate["channels"].get("lookup", 0.0) for candidate in candidates])
    fitting = zip(candidates, rows, strict=True)
    own = np.array([candidate["score"] * KIND_FACTORS.get(kinds[row], 1.0) for candidate, row in fitting])
    own += looked_up + shape.chunk_scores(corpus, settings, rows)
    if "definition" not in settings.disabled_signals:
        own += question.written[rows]
        if shape.wants_definition:
            own += question.definitions[rows]
            own += np.where(looked_up >= _CERTAIN, _DECLARED, 0)
    files = corpus.file_of[rows]
    own *= shape.chunk_share * shares["factor"][files]
    if not shape.wants_definition:  # the places asked for are known
        own += np.where(looked_up >= _RESOLVED, _KNOWN_ANSWER * looked_up, 0)
    totals = own + (1 - shape.chunk_share) * by_file[files]
    scored = [
        Scored(total, part, row, candidate)
        for total, part, row, candidate in zip(totals.tolist(), own.tolist(), rows, candidates, strict=True)
        if candidate["chunk_id"] != analysis["similar_to"]
    ]
    scored.sort(key=lambda one: (-one.score, one.row))
    return scored, shares


def _lexically_best(candidates: Sequence[Candidate], rows: Sequence[int]) -> list[int]:
    found = [
        (-candidate["channels"].get("lexical", 0.0), row)
        for candidate, row in zip(candidates, rows, strict=True)
        if candidate["channels"].get("lexical", 0.0) > 0
    ]
    return [row for _, row in sorted(found)[:_COHERENCE_CHUNKS]]


def _is_known(candidate: Candidate, shape: Shape) -> bool:
    """Whether a candidate is one of the places asked for, and not only like them."""
    return candidate["channels"].get("lookup", 0.0) >= _RESOLVED and not shape.wants_definition


def _spread(corpus: Corpus, scored: list[Scored], shape: Shape, limit: int, top_k: int) -> list[Candidate]:
    """Return the best, where each further result of one file counts less and no file has more than `limit`.

    What is known to be asked for is all there, however much of it one file has.
    """
    shown: Counter[int] = Counter()
    declarations: set[tuple[int, str, int]] = set()
    decayed = []
    for one in scored:
        row, candidate = one.row, one.candidate
        file = int(corpus.file_of[row])
        name = candidate["symbol"] or corpus.value("qualified_name", row)
        line = candidate["start_line"] if "lookup" in candidate["channels"] else 0  # tells overloads apart
        if (file, name, line) in declarations:
            continue  # a further part of a long declaration, or the same one found twice
        declarations.update(((file, name, line), (file, name, 0)))
        known = _is_known(candidate, shape)
        if known or shown[file] < limit:
            further = (
                one.score * _KNOWN_DECAY ** shown[file] if known else one.as_further(shown[file], shape.same_file_decay)
            )
            decayed.append((further, candidate))
            shown[file] += 1
    decayed.sort(key=lambda entry: -entry[0])
    return [{**candidate, "score": score} for score, candidate in decayed[:top_k]]


def _explained(corpus: Corpus, result: Candidate, shares: dict[str, FloatArray]) -> Candidate:
    """Return the result with what each signal added to its score."""
    row = corpus.row_of[result["chunk_id"]]
    file = corpus.file_of[row]
    signals = {name: round(float(values[file]), 4) for name, values in shares.items() if values[file]}
    return {**result, "signals": signals, "symbol": result["symbol"] or corpus.value("qualified_name", row)}


def narrow_to_kinds(corpus: Corpus, results: Sequence[Candidate], kinds: Sequence[str]) -> list[Candidate]:
    """Return the results, each with the lines of a declaration of one of the kinds, if any: chunks may hold several."""
    return [_narrowed(corpus, result, kinds) for result in results] if kinds else list(results)


def _narrowed(corpus: Corpus, result: Candidate, kinds: Sequence[str]) -> Candidate:
    row = corpus.row_of[result["chunk_id"]]
    shown = result["symbol"] or corpus.value("qualified_name", row)
    members = [member for member in corpus.members[row] if member["kind"] in kinds]
    if not members or any(member["qualified_name"] == shown for member in members):
        return result
    best = members[0]
    end_line = min(best["end_line"], int(corpus.end_lines[row]))
    return {**result, "start_line": best["start_line"], "end_line": end_line, "symbol": best["qualified_name"]}
