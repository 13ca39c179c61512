"""Changes that answer a question about history: of the code that it names, or those that its words describe."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from coderag.errors import UnknownNameError, UnknownRevisionError
from coderag.lineage.code_history import CodeHistory
from coderag.lineage.commit_lines import CommitLineReader
from coderag.retrieval.history.selection import CommitScores, ScoredCommit, get_change
from coderag.retrieval.query_context import QueryContext
from coderag.schema.history_evidence import HistoryEvidence, HistorySubject
from coderag.schema.lineage import CommittedChange, SubjectHistory
from coderag.schema.query import HistoryReading, QueryState
from coderag.text.tokenizer import tokenize_text

_MAX_CHANGES: Final = 20
_MAX_SUBJECT_CHANGES: Final = 60
_SUBJECT_WEIGHTS: Final = (1.0, 0.5, 0.3)
"""Weights of the first results, where the question names none."""

_MIN_COVERAGE: Final = 0.5
"""Share of the topic's words, by IDF, that the message and the lines of a commit have if it answers."""

_MIN_MATCH, _MIN_AGREEMENT, _MIN_BACKED_COVERAGE = 0.85, 0.3, 0.15
"""A match is relative to the best message of the history, so that some words of the topic must be there as well."""

_CLEAR_COVERAGE, _CLEAR_RATIO = 0.3, 1.5
"""Coverage that is enough where no other change of the subject has nearly as much."""

_MIN_NAME_CHARS: Final = 4
_NAME_KINDS: Final = frozenset({"identifier", "qualified_name", "quoted"})
_HYPHENATED: Final = re.compile(r"(?<![\w-])\w+(?:-\w+)+(?![\w-])")
"""Words with hyphens: names of features and settings, but also plain words, so that what they name is only likely."""

_NEARLY: Final = 0.9
_MAX_READ_CHANGES: Final = 40


class ChangeFinder:
    """Finds the changes that answer one question.

    Args:
        context: Query context.
        state: State with the analysis and the results.
        history: The history.
        reading: What the question asks of it.
    """

    def __init__(self, context: QueryContext, state: QueryState, history: CodeHistory, reading: HistoryReading) -> None:
        self._context = context
        self._analysis = state["analysis"]
        self._history = history
        self._reading = reading
        self._notes: list[str] = []
        self._since, self._until = self._resolve(reading["since"]), self._resolve(reading["until"])

    def find(self, subjects: Sequence[HistorySubject]) -> HistoryEvidence:
        """Find the changes, best first.

        Args:
            subjects: Code that the question names, or else the best results; may be empty.
        """
        if named := self._find_named_commits():
            return self._build(None, named, is_deciding=True)
        if self._reading["event"] == "removed" and (removal := self._find_removal()) is not None:
            name, change = removal
            evidence = self._build(HistorySubject("", qualified_name=name), [change], is_deciding=True)
            return replace(evidence, is_described=_HYPHENATED.fullmatch(name) is not None)
        scores = CommitScores(self._context, self._history, self._reading["topic"])
        subject = subjects[0] if subjects else None
        if self._asks_period() and not scores.has_topic and not (subject and subject.is_named):
            subject = HistorySubject("")
        own = self._read_changes(subject) if subject is not None and subject.is_named else None
        if subject is None or own is None:
            return self._find_described(scores, subjects)
        self._notes += own.notes
        return replace(self._find_of_subject(subject, own.changes), is_limited=own.is_limited)

    def _find_of_subject(self, subject: HistorySubject, changes: Sequence[CommittedChange]) -> HistoryEvidence:
        """Choose among the changes of the code that the question names."""
        if not changes:
            return self._build(subject, [], is_deciding=False)
        scores = CommitScores(
            self._context, self._history, self._remove_names(subject), only_known=bool(self._reading["event"])
        )
        chosen, is_deciding = self._choose(subject, scores, changes)
        ordered = [chosen, *(change for change in changes if change.commit.id != chosen.commit.id)]
        return self._build(subject, ordered, is_deciding=is_deciding)

    def _choose(
        self, subject: HistorySubject, scores: CommitScores, changes: Sequence[CommittedChange]
    ) -> tuple[CommittedChange, bool]:
        """Choose the change that answers, and return whether it does.

        What the question says beside the name decides; without more words, the event that it asks for.
        """
        event, aspect = self._reading["event"], self._reading["aspect"]
        by_event = self._find_introduction(subject, changes) if event == "introduced" else changes[0]
        if not scores.has_topic:
            if aspect == "why" and event != "last" and subject.start_line:
                scores.add_changes(changes)
                scores.add_lines(subject, 1.0)
                return get_change(scores.rank(changes)[0]), True
            return by_event, True
        if event == "last" or (aspect == "changes" and not event):
            return by_event, True
        self._score_changes(scores, changes)
        if aspect == "why" and subject.start_line:
            scores.add_lines(subject, 1.0)
        ranked = scores.rank(changes)
        best = ranked[0]
        if event == "introduced":  # the first that brought nearly as much
            best = min(
                (entry for entry in ranked if entry.coverage >= _NEARLY * max(other.coverage for other in ranked)),
                key=lambda entry: entry.commit.commit_time,
            )
        second = max((entry.coverage for entry in ranked if entry is not best), default=0.0)
        if best.coverage >= _MIN_COVERAGE or best.coverage >= max(_CLEAR_COVERAGE, _CLEAR_RATIO * second):
            return get_change(best), True
        return by_event, event == "introduced"

    def _asks_period(self) -> bool:
        """Return whether the question asks for the commits of a period."""
        return self._reading["aspect"] == "changes" and bool(self._since or self._until)

    def _find_removal(self) -> tuple[str, CommittedChange] | None:
        """Return a name of the question that the index no longer declares, and the commit that removed it."""
        named = [entity["text"] for entity in self._analysis["entities"] if entity["kind"] in _NAME_KINDS]
        for text in dict.fromkeys([*named, *_HYPHENATED.findall(self._analysis["question"])]):
            name = re.split(r"[.:#>]+", text)[-1]
            if len(name) >= _MIN_NAME_CHARS and name not in self._context.corpus.symbols:
                change = self._history.find_last_text_change(name)
                return (name, change) if change is not None else None
        return None

    def _find_introduction(self, subject: HistorySubject, changes: Sequence[CommittedChange]) -> CommittedChange:
        """Return the change that added a declaration, or the oldest: lines are traced into what they were copied from."""
        name = re.split(r"\W+", subject.qualified_name)[-1]
        for change in changes if name else ():
            declarations = self._history.get_declarations([change.commit.id]).get(change.commit.id, ())
            kinds = {entry.change for entry in declarations if re.split(r"\W+", entry.qualified_name)[-1] == name}
            if "added" in kinds and "removed" not in kinds:  # both: it was moved or renamed
                return change
        return changes[-1]

    def _score_changes(self, scores: CommitScores, changes: Sequence[CommittedChange]) -> None:
        """Score changes by the words of their messages and of their lines."""
        scores.add_changes(changes)
        reader = CommitLineReader(Path(self._context.root))
        read = changes[:_MAX_READ_CHANGES]
        for change, (removed, written) in zip(read, reader.read_sides(read), strict=True):
            scores.add_sides(change.commit, removed, written)

    def _remove_names(self, subject: HistorySubject) -> str:
        """Return the topic without the words of the subject's name and path."""
        own = set(tokenize_text(f"{subject.qualified_name} {subject.path}"))
        return " ".join(word for word in self._reading["topic"].split() if not own.issuperset(tokenize_text(word)))

    def _find_described(self, scores: CommitScores, subjects: Sequence[HistorySubject]) -> HistoryEvidence:
        """Choose the commits that the words describe: by their messages, and by the lines of the best results."""
        scores.add_messages(self._since, self._until)
        for result, weight in zip(subjects, _SUBJECT_WEIGHTS, strict=False):
            if not result.is_named and result.start_line:
                scores.add_lines(result, weight)
        paths = [result.path for result in subjects if not result.is_named]
        scores.add_files(dict(zip(reversed(paths), reversed(_SUBJECT_WEIGHTS[: len(paths)]), strict=True)))
        ranked = scores.rank()[:_MAX_CHANGES]
        is_deciding = bool(ranked) and _is_deciding(ranked[0])
        subject = subjects[0] if subjects and ranked and ranked[0].lines else None
        evidence = self._build(subject, [get_change(entry) for entry in ranked], is_deciding=is_deciding)
        return replace(evidence, is_described=True)

    def _find_named_commits(self) -> list[CommittedChange]:
        """Return the commits that the question names by id."""
        changes = []
        for revision in self._reading["commits"]:
            try:
                changes.append(CommittedChange(self._history.get_commit(revision).commit, ""))
            except UnknownRevisionError as error:
                self._notes.append(f"{error}.")
        return changes

    def _read_changes(self, subject: HistorySubject) -> SubjectHistory | None:
        """Return the changes of a subject; None if no commit has it."""
        try:
            return self._history.list_subject_commits(
                subject, since=self._since, until=self._until, limit=_MAX_SUBJECT_CHANGES
            )
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
            since=self._since,
            until=self._until,
            notes=tuple(dict.fromkeys(self._notes)),
        )


def _is_deciding(best: ScoredCommit) -> bool:
    """Return whether a commit that is only described answers: by its words, or by its message and what it changed."""
    is_backed = best.coverage >= _MIN_BACKED_COVERAGE and max(best.files, best.lines) >= _MIN_AGREEMENT
    return best.coverage >= _MIN_COVERAGE or (best.match >= _MIN_MATCH and is_backed)
