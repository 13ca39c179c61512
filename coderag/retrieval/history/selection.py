"""Selection of the commits that answer: by their messages, and by the lines that they wrote."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from coderag.errors import UnknownNameError
from coderag.lineage.code_history import CodeHistory
from coderag.retrieval.query_context import QueryContext
from coderag.schema.history_evidence import HistorySubject
from coderag.schema.lineage import Commit, CommittedChange, Hunk
from coderag.text.tokenizer import tokenize_query, tokenize_text

_MAX_MATCHES: Final = 60
_MATCH_WEIGHT, _COVERAGE_WEIGHT, _LINES_WEIGHT, _FILES_WEIGHT = 0.6, 0.4, 0.3, 0.2
_MAX_FOCUSED_FILES: Final = 8
_PLAIN_LINE_WEIGHT: Final = 0.2
"""Weight of a line without a word of the topic: lines that have one decide."""


@dataclass(slots=True)
class ScoredCommit:
    """A commit that may answer.

    Attributes:
        match: BM25 score of its message, relative to the best of the history, 0 to 1.
        coverage: Share of the topic's words, by IDF, that its message, paths and lines have.
        lines: Share of the lines in question that it wrote, 0 to 1.
        files: Weight of the best result whose file it changed, 0 to 1.
        change: What it changed of the subject.
    """

    commit: Commit
    match: float = 0.0
    coverage: float = 0.0
    lines: float = 0.0
    files: float = 0.0
    change: CommittedChange | None = None

    @property
    def score(self) -> float:
        """Weighted sum of the parts, 0 to 1.5."""
        return (
            _MATCH_WEIGHT * self.match
            + _COVERAGE_WEIGHT * self.coverage
            + _LINES_WEIGHT * self.lines
            + _FILES_WEIGHT * self.files
        )


class CommitScores:
    """Scores of commits for the topic of one question.

    Args:
        context: Query context.
        history: The history.
        topic: Words that say what is asked about.
        only_known: Whether words that the repository lacks do not count: beside a name they are verbs of the question.
    """

    def __init__(self, context: QueryContext, history: CodeHistory, topic: str, *, only_known: bool = False) -> None:
        self._corpus = context.corpus
        self._history = history
        self._topic = topic
        terms = [term for term in tokenize_query(topic) if not (only_known and term not in self._corpus.term_ids)]
        self._idf = {term: self._corpus.idf(term) for term in terms}
        self._scored: dict[str, ScoredCommit] = {}

    @property
    def has_topic(self) -> bool:
        """True if the topic has words to compare."""
        return bool(self._idf)

    def compute_coverage(self, text: str) -> float:
        """Return which share of the topic's words a text has, by IDF, 0 to 1."""
        return self._cover(set(tokenize_text(text)))

    def _cover(self, terms: Collection[str]) -> float:
        total = sum(self._idf.values())
        return sum(idf for term, idf in self._idf.items() if term in terms) / total if total else 0.0

    def add_messages(self, since: str, until: str) -> None:
        """Score the commits whose messages have words of the topic."""
        matches = self._history.find_commits(self._topic, since=since, until=until, limit=_MAX_MATCHES)
        best = max((match.score for match in matches), default=0.0)
        for match in matches:
            # An exact reference to a ticket has no score, and decides.
            self._get(match.commit).match = match.score / best if best and match.score else 1.0

    def add_lines(self, subject: HistorySubject, weight: float) -> None:
        """Score the commits that wrote the lines of a subject, those with words of the topic most."""
        try:
            blame = self._history.blame(subject.path, subject.start_line or 1, subject.end_line)
        except UnknownNameError:  # not committed yet
            return
        texts = self._read_lines(subject.path)
        shares: dict[str, float] = defaultdict(float)
        best_weights: dict[str, float] = {}
        for entry in blame.lines:
            if entry.commit is None:
                continue
            scored = self._get(entry.commit)
            lines = range(entry.start_line, entry.end_line + 1)
            weights = [self._weigh_line(texts.get(line, "")) for line in lines]
            shares[entry.commit.id] += sum(weights)
            if scored.change is None or max(weights) > best_weights.get(entry.commit.id, 0.0):
                best_weights[entry.commit.id] = max(weights)
                hunk = Hunk(entry.original_line, 0, entry.original_line, len(lines))
                last_line = entry.original_line + len(lines) - 1
                scored.change = CommittedChange(entry.commit, entry.path, (hunk,), entry.original_line, last_line)
                text = "\n".join(texts.get(line, "") for line in lines)
                scored.coverage = max(scored.coverage, self.compute_coverage(f"{_get_message(entry.commit)}\n{text}"))
        total = sum(shares.values())
        paths = self._history.list_paths(shares)
        for commit, share in shares.items():
            scored = self._scored[commit]
            # A commit that changes many files writes lines without a reason of their own: types, format, a move.
            spread = min(1.0, _MAX_FOCUSED_FILES / max(len(paths[commit]), 1))
            scored.lines = max(scored.lines, weight * spread * share / total)

    def add_files(self, weights: Mapping[str, float]) -> None:
        """Score the commits that changed files of the results, under whatever folder they were then.

        Args:
            weights: Weight of each file, 0 to 1.
        """
        by_name = {path.rpartition("/")[2]: weight for path, weight in reversed(list(weights.items()))}
        for commit, paths in self._history.list_paths(self._scored).items():
            names = (path.rpartition("/")[2] for path in paths)
            self._scored[commit].files = max((by_name.get(name, 0.0) for name in names), default=0.0)

    def add_changes(self, changes: Sequence[CommittedChange]) -> None:
        """Take the commits that changed the subject as candidates."""
        for change in changes:
            scored = self._get(change.commit)
            if scored.change is None or not scored.change.hunks:
                scored.change = change

    def add_sides(self, commit: Commit, removed: str, written: str) -> None:
        """Count the words that a commit brought: those of its message, and of the lines that it wrote but did not find."""
        old = set(tokenize_text(removed))
        brought = " ".join(term for term in set(tokenize_text(written)) if term not in old)
        scored = self._get(commit)
        scored.coverage = max(scored.coverage, self._cover({*tokenize_text(_get_message(commit)), *brought.split()}))

    def rank(self, among: Sequence[CommittedChange] | None = None) -> list[ScoredCommit]:
        """Return the commits, best first, newest first if equal; only some of them if given."""
        ids = None if among is None else {change.commit.id for change in among}
        scored = [entry for commit, entry in self._scored.items() if ids is None or commit in ids]
        return sorted(scored, key=lambda entry: (-entry.score, -entry.commit.commit_time.timestamp()))

    def _get(self, commit: Commit) -> ScoredCommit:
        scored = self._scored.get(commit.id)
        if scored is None:
            scored = self._scored[commit.id] = ScoredCommit(
                commit, coverage=self.compute_coverage(_get_message(commit))
            )
        return scored

    def _read_lines(self, path: str) -> Mapping[int, str]:
        """Return the lines of a file as indexed, by number; empty if it is not indexed."""
        corpus = self._corpus
        if path not in corpus.paths:
            return {}
        rows = corpus.get_chunk_rows(corpus.paths.index(path))
        lines: dict[int, str] = {}
        for row, text in zip(rows, corpus.read_texts(rows), strict=True):
            lines.update(enumerate(text.split("\n"), int(corpus.start_lines[row])))
        return lines

    def _weigh_line(self, text: str) -> float:
        terms = set(tokenize_text(text))
        return _PLAIN_LINE_WEIGHT + sum(idf for term, idf in self._idf.items() if term in terms)


def get_change(entry: ScoredCommit) -> CommittedChange:
    """Return what a commit changed; without lines where these are not known."""
    return entry.change or CommittedChange(entry.commit, "")


def _get_message(commit: Commit) -> str:
    return f"{commit.subject}\n{commit.body}"
