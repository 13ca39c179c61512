"""Sections of an answer about the history of code: the commit that decides, further commits, people and co-changes."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from coderag.answering.evidence.answer_input import AnswerInput
from coderag.answering.evidence.cited_lines import CitedLines
from coderag.answering.extractive.sections import DraftSection, DraftStatement, Excerpt, Part, build_lead
from coderag.answering.extractive.wording import format_code, format_count, format_prose, join_words
from coderag.ingestion.parsing.languages import detect_language
from coderag.schema.history_evidence import HistoryEvidence, HistorySubject
from coderag.schema.lineage import AuthorShare, CoChange, Commit, CommittedChange
from coderag.schema.query import HistoryReading
from coderag.schema.vocabulary import HistoryAspect

_MAX_FURTHER: Final = 8
_MAX_PEOPLE: Final = 5
_MAX_CO_CHANGES: Final = 8
_MAX_BODY_CHARS: Final = 480
_MAX_CITED_LINES: Final = 12
_UNKNOWN_PERSON: Final = "someone"
_TEXT_NOTE: Final = "This rests on the text of commit messages."
_COUNT_NOTE: Final = "This counts commits; it is not a dependency."


def build_history(answer_input: AnswerInput, sections: Sequence[DraftSection]) -> DraftSection | None:
    """Build the lead: what the history answers, first the commit, person or count that was asked for."""
    del sections
    evidence, reading = answer_input.history, answer_input.reading.get("history")
    if evidence is None or reading is None:
        return None
    section = _LEADS[reading["aspect"]](answer_input, evidence, reading)
    if section is None and answer_input.analysis["intent"] == "history":
        return _build_unknown(evidence)
    return section  # a "why" about code is answered from the code where no commit says it


def build_commits(answer_input: AnswerInput, sections: Sequence[DraftSection]) -> DraftSection | None:
    """Build the list of further commits, newest first as far as they answer equally well."""
    evidence = answer_input.history
    if evidence is None or not sections or not evidence.changes or sections[0].kind != "history":
        return None
    if evidence.is_described and not sections[0].statements[0].is_claim:
        return None  # nothing answers; other commits only share some words with the question
    statements = [_list_change(answer_input, change) for change in evidence.changes[1 : _MAX_FURTHER + 1]]
    return DraftSection("commits", statements, "Further commits") if statements else None


def build_origin(answer_input: AnswerInput, sections: Sequence[DraftSection]) -> DraftSection | None:
    """Build what the history says below an answer from the code: the commit that wrote the lines, for a "why"."""
    evidence, reading = answer_input.history, answer_input.reading.get("history")
    if evidence is None or not evidence.changes or reading is None or reading["aspect"] != "why" or not sections:
        return None
    return DraftSection("origin", [_describe_change(answer_input, evidence, reading)], "In the history", style="text")


def _build_change(answer_input: AnswerInput, evidence: HistoryEvidence, reading: HistoryReading) -> DraftSection | None:
    if not evidence.changes or not evidence.is_deciding or _has_missing_words(answer_input, evidence):
        return None
    return build_lead("history", _describe_change(answer_input, evidence, reading), missing=evidence.notes)


def _has_missing_words(answer_input: AnswerInput, evidence: HistoryEvidence) -> bool:
    """Return whether a commit that was found by words lacks one of the question that no indexed file has either."""
    commit = evidence.changes[0].commit
    message = f"{commit.subject}\n{commit.body}".lower()
    return evidence.is_described and any(word.lower() not in message for word in answer_input.unknown_words.words)


def _build_changes(
    answer_input: AnswerInput, evidence: HistoryEvidence, reading: HistoryReading
) -> DraftSection | None:
    if reading["event"] or reading["commits"] or not evidence.subject:
        return _build_change(answer_input, evidence, reading)
    period = _describe_period(evidence)
    if not evidence.changes:
        text = f"No commit changed {_name(evidence.subject)}{period}."
        return build_lead("history", DraftStatement([text], is_claim=False), missing=evidence.notes) if period else None
    at_least = "At least " if evidence.is_limited else ""
    count = (
        f"{at_least}{format_count(evidence.total, 'commit')} changed {_name(evidence.subject)}{period}. The latest: "
    )
    described = _describe_change(answer_input, evidence, reading)
    return build_lead(
        "history", DraftStatement([count, *described.parts], "quotes", described.excerpt), missing=evidence.notes
    )


def _build_people(answer_input: AnswerInput, evidence: HistoryEvidence, reading: HistoryReading) -> DraftSection | None:
    del answer_input, reading
    if not evidence.authors or evidence.subject is None:
        return None
    first, *further = evidence.authors[:_MAX_PEOPLE]
    lead = f"**{format_prose(first.author)}** knows {_name(evidence.subject)} best: {_describe_share(first)}."
    listed = [f"{format_prose(share.author)}: {_describe_share(share)}." for share in further]
    text = " ".join([lead, *listed])
    return build_lead("history", DraftStatement([text], is_claim=False), missing=evidence.notes)


def _build_together(
    answer_input: AnswerInput, evidence: HistoryEvidence, reading: HistoryReading
) -> DraftSection | None:
    del answer_input, reading
    if not evidence.co_changes or evidence.subject is None:
        return None
    first = evidence.co_changes[0]
    lead = f"{_describe_co_change(first)} most often changes in the same commits as {_name(evidence.subject)}. {_COUNT_NOTE}"
    listed = [
        DraftStatement([f"{_describe_co_change(other)}: {_count_together(other)}"], is_claim=False)
        for other in evidence.co_changes[:_MAX_CO_CHANGES]
    ]
    return DraftSection("history", [DraftStatement([lead], is_claim=False), *listed], missing=evidence.notes)


def _build_ticket(answer_input: AnswerInput, evidence: HistoryEvidence, reading: HistoryReading) -> DraftSection | None:
    tickets = join_words([format_code(ticket) for ticket in reading["tickets"]])
    if not evidence.ticket_changes:
        return _build_change(answer_input, evidence, reading)
    names = list(dict.fromkeys(format_code(change.declaration.qualified_name) for change in evidence.ticket_changes))
    commits = {change.commit.id for change in evidence.ticket_changes}
    lead = (
        f"{format_count(len(commits), 'commit')} for {tickets} changed {join_words(names[:_MAX_FURTHER])}. {_TEXT_NOTE}"
    )
    listed = [
        DraftStatement(
            [
                f"{format_code(change.declaration.qualified_name)} in {format_code(change.declaration.path)}:"
                f" {change.declaration.change} by {_format_commit(change.commit)}."
            ],
            is_claim=False,
        )
        for change in evidence.ticket_changes[:_MAX_FURTHER]
    ]
    return DraftSection("history", [DraftStatement([lead], is_claim=False), *listed], missing=evidence.notes)


def _build_tickets(
    answer_input: AnswerInput, evidence: HistoryEvidence, reading: HistoryReading
) -> DraftSection | None:
    oldest_first = (
        sorted(evidence.changes, key=lambda change: change.commit.commit_time) if evidence.subject else evidence.changes
    )
    named = [(change, reference) for change in oldest_first for reference in change.commit.references]
    if not named:
        return None
    change, reference = named[0]
    described = _describe_change(answer_input, evidence, reading, change)
    lead = f"{_name(evidence.subject)} goes back to {format_code(reference.text)}: "
    note = f" {_TEXT_NOTE}"
    statement = DraftStatement([lead, *described.parts, note], "quotes", described.excerpt)
    return build_lead("history", statement, missing=evidence.notes)


def _build_unknown(evidence: HistoryEvidence) -> DraftSection:
    """Build what is said where the history has no answer: why it is not known, and the nearest commit."""
    subject = f" about {_name(evidence.subject)}" if evidence.subject and evidence.subject.is_named else " about this"
    nearest = f" The nearest is {_format_commit(evidence.changes[0].commit)}." if evidence.changes else ""
    text = f"The history has no commit{subject} that answers.{nearest}"
    notes = " ".join(evidence.notes)
    missing = f"The history does not answer: {notes}" if notes else "No commit answers."
    return build_lead("history", DraftStatement([f"{text} {notes}".strip()], is_claim=False), missing=[missing])


def _describe_change(
    answer_input: AnswerInput, evidence: HistoryEvidence, reading: HistoryReading, change: CommittedChange | None = None
) -> DraftStatement:
    """State who changed the subject, when and in which commit, with its message and its lines."""
    change = change or evidence.changes[0]
    commit = change.commit
    name = _name(evidence.subject) if evidence.subject and evidence.subject.display_name else "The code"
    event = _EVENTS[reading["event"]] if reading["event"] else "was changed"
    when, who = f"{commit.time:%Y-%m-%d}", format_prose(commit.author) or _UNKNOWN_PERSON
    subject = format_prose(commit.subject)
    body, references = _shorten_body(commit.body), _describe_references(commit)
    if reading["aspect"] == "author":
        text = f"**{who}**: {name} {event} on {when} in {_format_commit(commit)}: {subject}"
    elif reading["aspect"] == "why":
        text = f"{subject}: {name} {event} for this on {when} in {_format_commit(commit)} by {who}"
    else:
        text = f"{name} {event} on **{when}** in {_format_commit(commit)} by {who}: {subject}"
    if commit.is_boundary:  # any older commit may have written the lines
        text = f"{name} is at least as old as **{when}**: the history of this clone ends there, at {_format_commit(commit)}"
        body, references = "", ""
    hedge = "Most likely, by the words of its message: " if evidence.is_described else ""
    parts: list[Part] = [f"{hedge}{text.rstrip('.')}."]
    if body:
        parts.append(f" {body}")
    if references:
        parts.append(f" {references}")
    lines = _build_citation(answer_input, change)
    if lines is None:
        return DraftStatement(parts, is_claim=False)
    excerpt = Excerpt(lines, [range(lines.start_line, lines.end_line + 1)], detect_language(lines.path))
    return DraftStatement(parts, "quotes", excerpt)


def _list_change(answer_input: AnswerInput, change: CommittedChange) -> DraftStatement:
    commit = change.commit
    who = f", {format_prose(commit.author)}" if commit.author else ""
    text = f"{_format_commit(commit)} {commit.time:%Y-%m-%d}{who}: {format_prose(commit.subject)}"
    if commit.is_boundary:
        text = f"{_format_commit(commit)} {commit.time:%Y-%m-%d}: the end of this clone's history"
    lines = _build_citation(answer_input, change)
    return DraftStatement([text, " — ", lines], "quotes") if lines else DraftStatement([text], is_claim=False)


def _build_citation(answer_input: AnswerInput, change: CommittedChange) -> CitedLines | None:
    """Cite the lines that prove what a commit changed; None if they are not known."""
    read = answer_input.commit_lines.read_widest(change, _MAX_CITED_LINES)
    if read is None:
        return None
    commit, path, start, lines = read
    return CitedLines(path, start, start + len(lines) - 1, "\n".join(lines), kind="commit", revision=commit)


def _describe_references(commit: Commit) -> str:
    names = list(dict.fromkeys(format_code(reference.text) for reference in commit.references))
    return f"Its message refers to {join_words(names[:3])}." if names else ""


def _shorten_body(body: str) -> str:
    """Return the first paragraph of a message's body as prose, cut at a sentence or a word."""
    paragraph = next((part for part in body.strip().split("\n\n") if part.strip()), "")
    text = format_prose(paragraph)
    return text if len(text) <= _MAX_BODY_CHARS else f"{text[:_MAX_BODY_CHARS].rsplit(' ', 1)[0]} …"


def _describe_period(evidence: HistoryEvidence) -> str:
    since = f" since {format_code(evidence.since)}" if evidence.since else ""
    return since + (f" until {format_code(evidence.until)}" if evidence.until else "")


def _describe_share(share: AuthorShare) -> str:
    lines = f"{format_count(share.lines, 'line')} and " if share.lines else ""
    return f"{lines}{format_count(share.commits, 'commit')}, the last on {share.last_time:%Y-%m-%d}"


def _describe_co_change(other: CoChange) -> str:
    return format_code(other.qualified_name or other.path)


def _count_together(other: CoChange) -> str:
    return (
        f"in {other.together} of {format_count(other.subject_commits, 'commit')}, and {other.other_commits} of its own"
    )


def _format_commit(commit: Commit) -> str:
    return format_code(commit.short_id)


def _name(subject: HistorySubject | None) -> str:
    return format_code(subject.display_name) if subject and subject.display_name else "the code"


_EVENTS: Final = MappingProxyType(
    {"introduced": "was introduced", "removed": "was removed", "last": "was last changed"}
)
_LEADS: Final[Mapping[HistoryAspect, Callable[[AnswerInput, HistoryEvidence, HistoryReading], DraftSection | None]]] = (
    MappingProxyType(
        {
            "changes": _build_changes,
            "why": _build_change,
            "when": _build_change,
            "author": _build_change,
            "people": _build_people,
            "together": _build_together,
            "ticket": _build_ticket,
            "tickets": _build_tickets,
        }
    )
)
