"""Selection of the commits that answer: by their messages, and by who wrote the lines that the question is about."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from coderag.errors import UnknownNameError
from coderag.lineage.code_history import CodeHistory
from coderag.retrieval.query_context import QueryContext
from coderag.schema.history_evidence import HistorySubject
from coderag.schema.lineage import Commit, CommittedChange, Hunk
from coderag.text.tokenizer import tokenize_text

_MAX_MATCHES: Final = 60
_MESSAGE_WEIGHT: Final = 0.6
_LINE_WEIGHT: Final = 0.6
_PLAIN_LINE_WEIGHT: Final = 0.1
"""Weight of a line without a word of the question: the lines that have one decide."""

_MIN_DECIDING_SCORE: Final = 0.35


@dataclass(slots=True)
class ScoredCommit:
    """A commit that may answer.

    Attributes:
        message: Score of its message, relative to the best of the history, 0 to 1.
        lines: Share of the lines that the question is about that it wrote, 0 to 1.
        change: What it changed of the subject.
    """

    commit: Commit
    message: float = 0.0
    lines: float = 0.0
    change: CommittedChange | None = None

    @property
    def score(self) -> float:
        """Both scores together."""
        return _MESSAGE_WEIGHT * self.message + _LINE_WEIGHT * self.lines


@dataclass(slots=True)
class CommitScores:
    """Scores of commits for one question.

    Args:
        context: Query context.
        history: The history.
        question: The question in English.
        terms: Its terms.
    """

    context: QueryContext
    history: CodeHistory
    question: str
    terms: Sequence[str]
    since: str = ""
    until: str = ""
    _scored: dict[str, ScoredCommit] = field(default_factory=dict)

    def add_messages(self) -> None:
        """Score the commits whose messages have words of the question."""
        matches = self.history.find_commits(self.question, since=self.since, until=self.until, limit=_MAX_MATCHES)
        best = max((match.score for match in matches), default=0.0)
        for match in matches:
            # An exact reference to a ticket has no score, and decides.
            self._get(match.commit).message = match.score / best if best and match.score else 1.0

    def add_lines(self, subject: HistorySubject, weight: float) -> None:
        """Score the commits that wrote the lines of a subject, those with words of the question most."""
        try:
            blame = self.history.blame(subject.path, subject.start_line or 1, subject.end_line)
        except UnknownNameError:  # not committed yet
            return
        texts = self._read_lines(subject)
        shares: dict[str, float] = defaultdict(float)
        for entry in blame.lines:
            if entry.commit is None:
                continue
            scored = self._get(entry.commit)
            line_weights = [
                self._weigh_line(texts.get(line, "")) for line in range(entry.start_line, entry.end_line + 1)
            ]
            shares[entry.commit.id] += sum(line_weights)
            best = max(range(len(line_weights)), key=line_weights.__getitem__)
            count = entry.end_line - entry.start_line + 1
            hunk = Hunk(entry.original_line, 0, entry.original_line, count)
            if scored.change is None or line_weights[best] > _PLAIN_LINE_WEIGHT:
                scored.change = CommittedChange(
                    entry.commit, entry.path, (hunk,), entry.original_line, entry.original_line + count - 1
                )
        total = sum(shares.values())
        for commit, share in shares.items():
            scored = self._scored[commit]
            scored.lines = max(scored.lines, weight * share / total if total else 0.0)

    def add_changes(self, changes: Sequence[CommittedChange]) -> None:
        """Take the commits that changed the subject as candidates."""
        for change in changes:
            scored = self._get(change.commit)
            if scored.change is None or not scored.change.hunks:
                scored.change = change

    def rank(self, among: Sequence[CommittedChange] | None = None) -> list[ScoredCommit]:
        """Return the commits, best first, newest first if equal; only some of them if given."""
        ids = None if among is None else {change.commit.id for change in among}
        scored = [entry for commit, entry in self._scored.items() if ids is None or commit in ids]
        return sorted(scored, key=lambda entry: (-entry.score, -entry.commit.commit_time.timestamp()))

    def get_change(self, entry: ScoredCommit) -> CommittedChange:
        """Return what a commit changed; without lines where these are not known."""
        return entry.change or CommittedChange(entry.commit, "")

    def _get(self, commit: Commit) -> ScoredCommit:
        return self._scored.setdefault(commit.id, ScoredCommit(commit))

    def _read_lines(self, subject: HistorySubject) -> Mapping[int, str]:
        corpus = self.context.corpus
        if subject.path not in corpus.paths:
            return {}
        rows = corpus.get_chunk_rows(corpus.paths.index(subject.path))
        lines: dict[int, str] = {}
        for row, text in zip(rows, corpus.read_texts(rows), strict=True):
            first = int(corpus.start_lines[row])
            lines.update(enumerate(text.split("\n"), first))
        return lines

    def _weigh_line(self, text: str) -> float:
        found = set(tokenize_text(text)) & set(self.terms)
        return _PLAIN_LINE_WEIGHT + sum(self.context.corpus.idf(term) for term in found)
