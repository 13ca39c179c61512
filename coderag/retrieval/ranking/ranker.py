"""Ranking of candidates by the signals, and choice of results among declarations and files."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from coderag.config.sections import SearchSettings
from coderag.retrieval.literals import CHANNEL as LITERAL_CHANNEL
from coderag.retrieval.literals import get_literal_score
from coderag.retrieval.ranking.merging import POOL_FACTOR, merge_results
from coderag.retrieval.ranking.signals import RankingQuery, score_files
from coderag.retrieval.report_ranking import report_scores
from coderag.retrieval.shapes import REPORT, Scored, Shape, shape_of
from coderag.schema.query import Analysis, Candidate
from coderag.stores.corpus import Corpus

FloatArray = NDArray[np.float32]

_MAX_COHERENCE_CHUNKS = 50
_MIN_RESOLVED_CONFIDENCE = 0.5  # confidence required of the code graph
_RESOLVED_BONUS = 30.0  # resolved answers precede similar ones, nearer ones precede better named ones
_LITERAL_WEIGHT = 1.0  # of a literal that a question has among other words
_LITERAL_BONUS = 30.0  # what has the text of a query that is nothing else precedes what is similar
_EXACT_LOOKUP_SCORE = 1.0  # the declaration of exactly the requested name
_EXACT_DECLARATION_BONUS = 0.5  # keeps it ahead of a file with a similar name
# A context may show much of one file: the answer is often there.
_CONTEXT_SAME_FILE_DECAY, _CONTEXT_MAX_PER_FILE_FACTOR = 0.85, 4
_RESOLVED_SAME_FILE_DECAY = 0.99  # per further result of a file, so that equally near ones of other files precede it


KIND_FACTORS = {"module": 0.8}
"""Factors of chunks within their file: imports contain many of its words and explain none."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """Scored candidates from which results are chosen.

    Attributes:
        scored: Candidates, best first.
        shares: Contribution of each signal to each file's score.
        shape: Rules for choosing results.
        max_per_file: Maximum number of results of one file on a page.
        page_size: Number of results of a page.
    """

    corpus: Corpus
    scored: list[Scored]
    shares: dict[str, FloatArray]
    shape: Shape
    max_per_file: int
    page_size: int

    def select_results(self, top_k: int, limit: int | None = None) -> list[Candidate]:
        """Select results, best first, few per file on the first page.

        Further results of a file follow after the page if more than a page is wanted. If all candidates are of one file,
        there is no limit.

        Args:
            top_k: Number of results to select.
            limit: Number of results that the caller wants; by default `top_k`.
        """
        max_per_file = self.shape.max_per_file or self.max_per_file
        if self._has_single_file():
            max_per_file = max(top_k, max_per_file)
        extends_page = (top_k if limit is None else limit) > self.page_size
        return self._select(self.shape, max_per_file, top_k, self.page_size if extends_page else None)

    def _has_single_file(self) -> bool:
        """Return whether all candidates are of one file."""
        if not self.scored:
            return False
        rows = self.corpus.get_chunk_rows(int(self.corpus.chunk_files[self.scored[0].row]))
        return all(entry.row in rows for entry in self.scored)

    def count_withheld(self, results: Sequence[Candidate]) -> dict[str, int]:
        """Count by path the candidates that only the limit per file keeps from the results."""
        if not results:
            return {}
        max_per_file = self.shape.max_per_file or self.max_per_file
        chosen = [self.corpus.rows_by_id[result["chunk_id"]] for result in results]
        counts = Counter(int(self.corpus.chunk_files[row]) for row in chosen)
        selected = {(result["chunk_id"], result["start_line"]) for result in results}
        lowest = min(result["score"] for result in results) if len(results) >= self.page_size else 0.0
        withheld: Counter[str] = Counter()
        for entry in self.scored:
            if entry.score < lowest:
                break
            file, candidate = int(self.corpus.chunk_files[entry.row]), entry.candidate
            if counts[file] < max_per_file or (candidate["chunk_id"], candidate["start_line"]) in selected:
                continue
            if entry.as_further(counts[file], self.shape.same_file_decay) >= lowest:
                withheld[self.corpus.paths[file]] += 1
        return dict(withheld)

    def select_for_context(self, top_k: int) -> list[Candidate]:
        """Select candidates for a context, with as many of one file as are good."""
        max_per_file = self.shape.max_per_file or _CONTEXT_MAX_PER_FILE_FACTOR * self.max_per_file
        decay = max(self.shape.same_file_decay, _CONTEXT_SAME_FILE_DECAY)
        return self._select(replace(self.shape, same_file_decay=decay), max_per_file, top_k)

    def _select(self, shape: Shape, max_per_file: int, top_k: int, page_size: int | None = None) -> list[Candidate]:
        chosen = diversify_by_file(self.corpus, self.scored, shape, max_per_file, POOL_FACTOR * top_k, page_size)
        pool = [entry.candidate for entry in self.scored[: POOL_FACTOR * top_k]]
        merged = merge_results(self.corpus, chosen, pool, top_k)
        return [_add_signals(self.corpus, result, self.shares) for result in merged]


def rank_candidates(
    corpus: Corpus, query: str, analysis: Analysis, candidates: Sequence[Candidate], settings: SearchSettings
) -> Ranking:
    """Rank candidates.

    Args:
        corpus: The open index.
        query: The question as asked.
        analysis: What it asks for.
        candidates: Candidates of retrieval and of the look-up.
        settings: Disabled signals, and the maximum number of results per file.
    """
    if not candidates:
        return Ranking(corpus, [], {}, REPORT, settings.max_per_file, settings.top_k)
    if report := analysis["report"]:
        shape = REPORT
        scored, shares = report_scores(corpus, analysis, report, candidates, settings.disabled_signals)
    else:
        shape = shape_of(analysis["intent"])
        scored, shares = _score_candidates(corpus, query, analysis, candidates, settings, shape)
    return Ranking(corpus, scored, shares, shape, settings.max_per_file, settings.top_k)


def _score_candidates(
    corpus: Corpus,
    query: str,
    analysis: Analysis,
    candidates: Sequence[Candidate],
    settings: SearchSettings,
    shape: Shape,
) -> tuple[list[Scored], dict[str, FloatArray]]:
    """Score the candidates, best first, and return the contribution of each signal per file."""
    rows = [corpus.rows_by_id[candidate["chunk_id"]] for candidate in candidates]
    with_literals = candidates if analysis["literals"] or analysis["entities"] else ()  # few questions have any
    ranking_query = RankingQuery.build(
        corpus, query, analysis, _find_best_lexical_rows(candidates, rows), with_literals
    )
    fused = np.zeros(corpus.n_files, np.float32)
    np.maximum.at(fused, corpus.chunk_files[rows], [candidate["file_score"] for candidate in candidates])
    by_file, shares = score_files(corpus, ranking_query, fused, settings.disabled_signals, settings.weights)
    kinds = corpus.get_column("kind")
    looked_up = np.array([candidate["channels"].get("lookup", 0.0) for candidate in candidates])
    candidate_rows = zip(candidates, rows, strict=True)
    own_scores = np.array([candidate["score"] * KIND_FACTORS.get(kinds[row], 1.0) for candidate, row in candidate_rows])
    own_scores += looked_up + shape.chunk_scores(corpus, settings, rows)
    if "definition" not in settings.disabled_signals:
        if with_literals:
            own_scores += np.array([get_literal_score(candidate) for candidate in with_literals])
        if shape.wants_definition:
            own_scores += ranking_query.definition_scores[rows]
            own_scores += np.where(looked_up >= _EXACT_LOOKUP_SCORE, _EXACT_DECLARATION_BONUS, 0)
    files = corpus.chunk_files[rows]
    own_scores *= shape.chunk_share * shares["factor"][files]
    if not shape.wants_definition:  # the answer's locations are resolved
        own_scores += np.where(looked_up >= _MIN_RESOLVED_CONFIDENCE, _RESOLVED_BONUS * looked_up, 0)
    if with_literals:
        literals = np.array([candidate["channels"].get(LITERAL_CHANNEL, 0.0) for candidate in with_literals])
        own_scores += (_LITERAL_BONUS if analysis["literal_query"] else _LITERAL_WEIGHT) * literals
    totals = own_scores + (1 - shape.chunk_share) * by_file[files]
    scored = [
        Scored(total, own_score, row, candidate)
        for total, own_score, row, candidate in zip(totals.tolist(), own_scores.tolist(), rows, candidates, strict=True)
        if candidate["chunk_id"] != analysis["similar_to"]
    ]
    scored.sort(key=lambda entry: (-entry.score, entry.row))
    return scored, shares


def _find_best_lexical_rows(candidates: Sequence[Candidate], rows: Sequence[int]) -> list[int]:
    scored_rows = [
        (-candidate["channels"].get("lexical", 0.0), row)
        for candidate, row in zip(candidates, rows, strict=True)
        if candidate["channels"].get("lexical", 0.0) > 0
    ]
    return [row for _, row in sorted(scored_rows)[:_MAX_COHERENCE_CHUNKS]]


def _is_resolved_answer(candidate: Candidate, shape: Shape) -> bool:
    """Return whether a candidate is a resolved answer rather than a similar one."""
    return candidate["channels"].get("lookup", 0.0) >= _MIN_RESOLVED_CONFIDENCE and not shape.wants_definition


def diversify_by_file(
    corpus: Corpus, scored: list[Scored], shape: Shape, limit: int, top_k: int, page_size: int | None = None
) -> list[Candidate]:
    """Select the best; further results of a file decay, up to `limit` per file.

    Resolved answers are exempt from the per-file limit, and with `page_size` all that follows the page.
    """
    file_counts: Counter[int] = Counter()
    seen_declarations: set[tuple[int, str, int]] = set()
    decayed: list[tuple[float, Candidate]] = []
    withheld: list[tuple[float, Candidate]] = []
    for entry in scored:
        row, candidate = entry.row, entry.candidate
        file = int(corpus.chunk_files[row])
        name = candidate["symbol"] or corpus.get_value("qualified_name", row)
        line = candidate["start_line"] if "lookup" in candidate["channels"] else 0  # distinguishes overloads
        if (file, name, line) in seen_declarations:
            continue  # another part of a long declaration, or a duplicate
        seen_declarations.update(((file, name, line), (file, name, 0)))
        is_resolved = _is_resolved_answer(candidate, shape)
        is_within_limit = is_resolved or file_counts[file] < limit
        if not is_within_limit and page_size is None:
            continue
        decayed_score = (
            entry.score * _RESOLVED_SAME_FILE_DECAY ** file_counts[file]
            if is_resolved
            else entry.as_further(file_counts[file], shape.same_file_decay)
        )
        (decayed if is_within_limit else withheld).append((decayed_score, candidate))
        file_counts[file] += 1
    decayed.sort(key=lambda decayed_entry: -decayed_entry[0])
    if page_size is not None:
        rest = sorted([*decayed[page_size:], *withheld], key=lambda decayed_entry: -decayed_entry[0])
        decayed = [*decayed[:page_size], *rest]
    return [{**candidate, "score": score} for score, candidate in decayed[:top_k]]


def _add_signals(corpus: Corpus, result: Candidate, shares: dict[str, FloatArray]) -> Candidate:
    """Add the contribution of each signal to a result."""
    row = corpus.rows_by_id[result["chunk_id"]]
    file = corpus.chunk_files[row]
    signals = {name: round(float(values[file]), 4) for name, values in shares.items() if values[file]}
    return {**result, "signals": signals, "symbol": result["symbol"] or corpus.get_value("qualified_name", row)}


def narrow_to_kinds(corpus: Corpus, results: Sequence[Candidate], kinds: Sequence[str]) -> list[Candidate]:
    """Narrow results to a declaration of one of the kinds, where their chunks have one."""
    return [_narrow_result(corpus, result, kinds) for result in results] if kinds else list(results)


def _narrow_result(corpus: Corpus, result: Candidate, kinds: Sequence[str]) -> Candidate:
    row = corpus.rows_by_id[result["chunk_id"]]
    qualified_name = result["symbol"] or corpus.get_value("qualified_name", row)
    members = [member for member in corpus.chunk_symbols[row] if member["kind"] in kinds]
    if not members or any(member["qualified_name"] == qualified_name for member in members):
        return result
    best = members[0]
    end_line = min(best["end_line"], int(corpus.end_lines[row]))
    return {**result, "start_line": best["start_line"], "end_line": end_line, "symbol": best["qualified_name"]}
