"""Changes that answer a question about history: of the code that it names, or those that its words describe."""

from collections.abc import Sequence
from typing import Final

from coderag.errors import UnknownNameError, UnknownRevisionError
from coderag.lineage.code_history import CodeHistory
from coderag.retrieval.history.selection import CommitScores, ScoredCommit
from coderag.retrieval.query_context import QueryContext
from coderag.schema.history_evidence import HistoryEvidence, HistorySubject
from coderag.schema.lineage import CommittedChange, SubjectHistory
from coderag.schema.query import HistoryReading, QueryState

_MAX_CHANGES: Final = 20
_MAX_SUBJECT_CHANGES: Final = 60
_SUBJECT_WEIGHTS: Final = (1.0, 0.5, 0.3)
"""Weights of the first results, where the question names none."""

_MIN_SCORE: Final = 0.35
_TEXT_KINDS: Final = frozenset({"quoted", "literal"})


class ChangeFinder:
    """Finds the changes that answer one question.

    Args:
        context: Query context.
        state: State with the analysis and the results.
        history: The history.
        asked: What the question asks of it.
    """

    def __init__(self, context: QueryContext, state: QueryState, history: CodeHistory, asked: HistoryReading) -> None:
        self._context = context
        self._analysis = state["analysis"]
        self._history = history
        self._asked = asked
        self._notes: list[str] = []
        self._since, self._until = self._resolve(asked["since"]), self._resolve(asked["until"])

    def find(self, subjects: Sequence[HistorySubject]) -> HistoryEvidence:
        """Find the changes, best first.

        Args:
            subjects: Code that the question names, or else the best results; may be empty.
        """
        if named := self._find_named_commits():
            return self._build(subjects[0] if subjects else None, named, is_deciding=True)
        scores = CommitScores(
            self._context,
            self._history,
            self._analysis["question"],
            self._analysis["terms"],
            self._since,
            self._until,
        )
        scores.add_messages()
        subject = subjects[0] if subjects else None
        if subject is None or not subject.is_named:
            return self._find_described(scores, subjects)
        own = self._read_changes(subject)
        if own is None:
            return self._find_described(scores, subjects)
        self._notes += own.notes
        scores.add_changes(own.changes)
        return self._find_of_subject(scores, subject, own.changes)

    def _find_of_subject(
        self, scores: CommitScores, subject: HistorySubject, changes: Sequence[CommittedChange]
    ) -> HistoryEvidence:
        """Choose among the changes of the code that the question names."""
        event, aspect = self._asked["event"], self._asked["aspect"]
        if not changes:
            return self._build(subject, [], is_deciding=False)
        newest_first = list(changes)
        if event == "introduced":
            best = newest_first[-1]
        elif event == "last" or aspect == "changes":
            best = newest_first[0]
        else:
            if aspect == "why" and subject.start_line:
                scores.add_lines(subject, 1.0)
            best = scores.get_change(scores.rank(newest_first)[0])
        ordered = [best, *(change for change in newest_first if change.commit.id != best.commit.id)]
        return self._build(subject, ordered, is_deciding=True)

    def _find_described(self, scores: CommitScores, subjects: Sequence[HistorySubject]) -> HistoryEvidence:
        """Choose the commits that the words describe: by their messages, and by the lines of the best results."""
        for subject, weight in zip(subjects, _SUBJECT_WEIGHTS, strict=False):
            if not subject.is_named and subject.start_line:
                scores.add_lines(subject, weight)
        ranked = scores.rank()[:_MAX_CHANGES]
        is_deciding = bool(ranked) and self._is_deciding(ranked[0])
        subject = subjects[0] if subjects and ranked and ranked[0].lines else None
        return self._build(subject, [scores.get_change(entry) for entry in ranked], is_deciding=is_deciding)

    def _is_deciding(self, best: ScoredCommit) -> bool:
        return best.score >= _MIN_SCORE

    def _find_named_commits(self) -> list[CommittedChange]:
        """Return the commits that the question names by id."""
        changes = []
        for revision in self._asked["commits"]:
            try:
                changes.append(CommittedChange(self._history.get_commit(revision).commit, ""))
            except UnknownRevisionError as error:
                self._notes.append(f"{error}.")
        return changes

    def _read_changes(self, subject: HistorySubject) -> SubjectHistory | None:
        """Return the changes of a subject; None if no commit has it."""
        limits = {"since": self._since, "until": self._until}
        try:
            if subject.start_line:
                return self._history.get_declaration_history(
                    subject.path,
                    subject.start_line,
                    subject.end_line,
                    subject.qualified_name,
                    limit=_MAX_SUBJECT_CHANGES,
                    **limits,
                )
            return self._history.list_commits(subject.path, limit=_MAX_SUBJECT_CHANGES, **limits)
        except UnknownNameError as error:
            self._notes.append(f"{error}.")
            return None

    def _resolve(self, text: str) -> str:
        """Return a limit that the history knows: as the question puts it, or as a tag of that version; else empty."""
        for candidate in (text, f"v{text}", text.removeprefix("v")) if text else ():
            try:
                self._history.list_commits(since=candidate, limit=1)
            except UnknownRevisionError:
                continue
            return candidate
        if text:
            self._notes.append(f"{text} is no date, tag or revision of this repository, so the whole history counts.")
        return ""

    def _build(
        self, subject: HistorySubject | None, changes: Sequence[CommittedChange], *, is_deciding: bool
    ) -> HistoryEvidence:
        return HistoryEvidence(
            subject,
            tuple(changes[:_MAX_CHANGES]),
            is_deciding=is_deciding,
            total=len(changes),
            notes=tuple(dict.fromkeys(self._notes)),
        )
