"""Order of the candidates, and choice of results among declarations and files."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from coderag.config.sections import SearchSettings
from coderag.retrieval.literals import CHANNEL as LITERAL_CHANNEL
from coderag.retrieval.ranking.file_factors import find_wanted_roles
from coderag.retrieval.ranking.merging import POOL_FACTOR, merge_results
from coderag.retrieval.shapes import REPORT, Shape, get_shape
from coderag.schema.query import Analysis, Candidate
from coderag.stores.corpus import Corpus

_MIN_RESOLVED_CONFIDENCE = 0.5  # confidence required of the code graph
_EXACT_BONUS = 2.0  # resolved answers and the text of a literal query precede what is similar
_TEST_DECLARATION_SHARE = 0.2
_CONTEXT_MAX_PER_FILE_FACTOR = 3  # a context may show much of one file: the answer is often there
_RESOLVED_SAME_FILE_DECAY = 0.99  # per further result of a file, so that equally near ones of other files precede it


class Scored(NamedTuple):
    """A candidate, its row, and its score; higher is better."""

    score: float
    row: int
    candidate: Candidate


@dataclass(frozen=True, slots=True)
class Ranking:
    """Scored candidates from which results are chosen.

    Attributes:
        scored: Candidates, best first.
        shape: Rules for choosing results.
        max_per_file: Maximum number of results of one file on a page.
        page_size: Number of results of a page.
    """

    corpus: Corpus
    scored: list[Scored]
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
            withheld[self.corpus.paths[file]] += 1
        return dict(withheld)

    def select_for_context(self, top_k: int) -> list[Candidate]:
        """Select candidates for a context, with as many of one file as are good."""
        max_per_file = self.shape.max_per_file or _CONTEXT_MAX_PER_FILE_FACTOR * self.max_per_file
        return self._select(self.shape, max_per_file, top_k)

    def _select(self, shape: Shape, max_per_file: int, top_k: int, page_size: int | None = None) -> list[Candidate]:
        chosen = diversify_by_file(self.corpus, self.scored, shape, max_per_file, POOL_FACTOR * top_k, page_size)
        pool = [entry.candidate for entry in self.scored[: POOL_FACTOR * top_k]]
        merged = merge_results(self.corpus, chosen, pool, top_k)
        return [_name_result(self.corpus, result) for result in merged]


def rank_candidates(
    corpus: Corpus, analysis: Analysis, candidates: Sequence[Candidate], settings: SearchSettings
) -> Ranking:
    """Order candidates: exact answers of the look-up and literals first, then by the ranker's score.

    Args:
        corpus: The open index.
        analysis: Analysis of the question.
        candidates: Candidates of retrieval and of the look-up, with the ranker's score.
        settings: Maximum number of results per file.
    """
    shape = REPORT if analysis["report"] else get_shape(analysis["intent"])
    scored = [
        Scored(
            candidate["score"] + _compute_bonus(candidate, analysis, shape, corpus.file_roles[corpus.chunk_files[row]]),
            row,
            candidate,
        )
        for candidate in candidates
        if candidate["chunk_id"] != analysis["similar_to"]
        for row in (corpus.rows_by_id[candidate["chunk_id"]],)
    ]
    scored.sort(key=lambda entry: (-entry.score, entry.row))
    return Ranking(corpus, scored, shape, settings.max_per_file, settings.top_k)


def _compute_bonus(candidate: Candidate, analysis: Analysis, shape: Shape, role: str) -> float:
    """Return what an exact answer has beyond the ranker's score, which is at most 1.

    A declaration of the requested name in a test counts less: it is rarely the one that is meant.
    """
    lookup = candidate["channels"].get("lookup", 0.0)
    bonus = lookup * (_TEST_DECLARATION_SHARE if role == "test" and role not in find_wanted_roles(analysis) else 1.0)
    if _is_resolved_answer(candidate, shape):  # nearer ones precede better named ones
        bonus = _EXACT_BONUS + lookup
    if analysis["literal_query"]:
        literal = candidate["channels"].get(LITERAL_CHANNEL, 0.0)
        bonus += _EXACT_BONUS * (literal > 0) + literal
    return bonus


def _is_resolved_answer(candidate: Candidate, shape: Shape) -> bool:
    """Return whether a candidate is a resolved answer rather than a similar one."""
    return candidate["channels"].get("lookup", 0.0) >= _MIN_RESOLVED_CONFIDENCE and not shape.wants_definition


def diversify_by_file(
    corpus: Corpus, scored: list[Scored], shape: Shape, limit: int, top_k: int, page_size: int | None = None
) -> list[Candidate]:
    """Select the best, up to `limit` per file; further resolved answers of a file decay a little.

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
        decayed_score = entry.score * _RESOLVED_SAME_FILE_DECAY ** file_counts[file] if is_resolved else entry.score
        (decayed if is_within_limit else withheld).append((decayed_score, candidate))
        file_counts[file] += 1
    decayed.sort(key=lambda decayed_entry: -decayed_entry[0])
    if page_size is not None:
        rest = sorted([*decayed[page_size:], *withheld], key=lambda decayed_entry: -decayed_entry[0])
        decayed = [*decayed[:page_size], *rest]
    return [{**candidate, "score": score} for score, candidate in decayed[:top_k]]


def _name_result(corpus: Corpus, result: Candidate) -> Candidate:
    """Name a result after its chunk, unless it is a member of it."""
    row = corpus.rows_by_id[result["chunk_id"]]
    return {**result, "symbol": result["symbol"] or corpus.get_value("qualified_name", row)}


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
