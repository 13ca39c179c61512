"""Questions about the history of code: what they ask of it, for which period, and the tickets that they name."""

import re
from collections.abc import Collection, Sequence
from typing import Final

from coderag.question.cues import Cue, load_cues
from coderag.question.wording import Token, read_tokens
from coderag.schema.query import HistoryReading, QuestionReading
from coderag.schema.vocabulary import HistoryAspect, HistoryEvent, QuestionKind
from coderag.text.references import find_commit_ids, find_tickets

_MAX_PERIOD_WORDS: Final = 4
_MASKS_IN_PERIODS: Final = frozenset({"<number>", "<name>", "<ticket>", "<quote>"})
_EXPLAINED_KINDS: Final = frozenset({"understand", "setting", "general", "find_definition"})
"""Kinds of questions whose "why" the history of the lines answers as well."""

_CODE_CONCEPTS: Final = frozenset(
    {"code", "implement", "change", "commit", "function", "class", "module", "file", "place", "where"}
)
"""Concepts of questions that ask for the code of a ticket, not for the ticket."""

_ONE_COMMIT: Final = frozenset({"commit", "pr", "mr", "patch", "коммит"})
"""Words for a single commit or pull request: "which PR brought us X" asks for the first one."""

_QUOTES: Final = "`'\"“”"
_REVISION: Final = re.compile(r"\d{4}(?:-\d{1,2}){0,2}|(?:[A-Za-z]\w*-)?v?\d+(?:\.\d+)+\S*|[0-9a-f]{7,40}|v\d+")
"""One end of a period: a year or date, a version or its tag, or a commit. "After 3 retries" is no period."""

_VERSION: Final = re.compile(r"(?:[A-Za-z]\w*-)?v?\d+(?:\.\d+)+\S*|v\d+")
_RELATIVE_UNITS: Final = re.compile(r"(?:\d{1,4} )?(?:day|week|month|year)s?(?: ago)?|yesterday|today", re.IGNORECASE)
_FORM_CONCEPTS: Final = frozenset(
    {
        "who", "what", "where", "when", "why", "how", "which", "howmany", "is", "do", "can", "should", "show",
        "find", "list", "my", "please", "pronoun", "commit", "blame", "history", "introduced", "last",
        "version", "change", "ticket", "say", "bug", "explain", "else", "and",
    }
)  # fmt: skip
"""Concepts of words that ask about a history and say nothing of its subject."""


def read_history(
    query: str, tokens: Sequence[Token], reading: QuestionReading, concepts: frozenset[str], english: str
) -> HistoryReading | None:
    """Return what a question asks of the history of code; None if it asks nothing of it.

    Args:
        query: The question as asked.
        tokens: Its tokens.
        reading: What it is classified as.
        concepts: Concepts of its cues.
        english: The question in English.
    """
    kind = reading["kind"]
    tickets, commits = find_tickets(query), find_commit_ids(query)
    own = [cue for cue in load_cues("history").read(tokens) if cue.concepts]
    own_concepts = frozenset[str]().union(*(cue.concepts for cue in own))
    is_why = "why" in concepts and kind in _EXPLAINED_KINDS
    asks_who_knows = "who" in concepts and "knows" in own_concepts
    since, until = _find_period(tokens, own)
    if kind != "history" and not (_VERSION.fullmatch(since) and _VERSION.fullmatch(until)):
        since = until = ""  # "between 3 and 5 seconds" is no period
    if kind not in ("history", "backlog") and not (tickets or is_why or asks_who_knows or since):
        return None
    return HistoryReading(
        aspect=_choose_aspect(kind, concepts, own_concepts, tickets, since),
        event="" if commits else _choose_event(tokens, concepts, own_concepts, since),
        topic=_find_topic(english, since, until),
        since=since,
        until=until,
        tickets=tickets,
        commits=commits,
    )


def asks_history(kind: QuestionKind, history: HistoryReading, concepts: Collection[str], *, has_subject: bool) -> bool:
    """Return whether the history of code answers a question, whatever the confidence in its kind.

    Args:
        kind: Kind that the question is classified as.
        history: What it asks of the history.
        concepts: Concepts of its cues.
        has_subject: Whether it names code.
    """
    if history["aspect"] == "ticket":
        return not _CODE_CONCEPTS.isdisjoint(concepts)
    if history["aspect"] == "tickets":
        return has_subject
    if kind != "history" and history["since"]:
        return "difference" not in concepts and "compare" not in concepts
    return history["aspect"] == "people" or (kind == "history" and history["aspect"] == "together")


def _choose_aspect(
    kind: QuestionKind, concepts: frozenset[str], own: frozenset[str], tickets: Sequence[str], since: str
) -> HistoryAspect:
    """Return the aspect of a question; the most specific word decides, whatever the order."""
    names_changes_together = "together" in own or {"else", "change"} <= set(concepts)
    rules: Sequence[tuple[bool, HistoryAspect]] = (
        (bool(tickets) and kind != "history", "ticket"),
        (names_changes_together and "why" not in concepts and "who" not in concepts, "together"),
        ("why" in concepts, "why"),
        ("ticket" in concepts, "tickets"),
        (not own.isdisjoint({"knows", "owns"}) and not concepts.isdisjoint({"who", "blame"}), "people"),
        ("blame" in concepts or ("who" in concepts and "what" not in concepts), "author"),
        ("when" in concepts and not since, "when"),
        (bool(tickets), "ticket"),
    )
    return next((aspect for holds, aspect in rules if holds), "changes")


def _choose_event(tokens: Sequence[Token], concepts: frozenset[str], own: Collection[str], since: str) -> HistoryEvent:
    if "first" in own or "introduced" in concepts:
        return "introduced"
    if "remove" in concepts or "gone" in own:
        return "removed"
    if "last" in concepts and not since:
        return "last"
    if not concepts.isdisjoint({"who", "blame"}) and "change" not in concepts:  # "who wrote it"
        return "introduced"
    return "introduced" if not since and any(token.source.lower() in _ONE_COMMIT for token in tokens) else ""


def _find_period(tokens: Sequence[Token], cues: Sequence[Cue]) -> tuple[str, str]:
    """Return from when to when a question asks, as it puts it: revisions, versions or dates; empty where it does not say."""
    since = until = ""
    for cue in cues:
        if "between" in cue.concepts:
            join = next((other for other in cues if other.first > cue.last and "join" in other.concepts), None)
            if join is not None:
                since, until = _read_end(tokens, cue.last + 1, join.first), _read_end(tokens, join.last + 1)
        elif "since" in cue.concepts:
            since = since or _read_end(tokens, cue.last + 1)
        elif "until" in cue.concepts:
            until = until or _read_end(tokens, cue.last + 1)
    return since, until


def _find_topic(english: str, since: str, until: str) -> str:
    """Return a question without the words that only ask, and without its period."""
    tokens = read_tokens(english, "en")
    cues = load_cues().read(tokens)
    asking = {
        position
        for cue in cues
        if cue.concepts and cue.concepts <= _FORM_CONCEPTS
        for position in range(cue.first, cue.last + 1)
    }
    period = {*since.split(), *until.split()}
    words = (
        token.source
        for position, token in enumerate(tokens)
        if position not in asking and token.source.lower().rstrip("s") not in _ONE_COMMIT
    )
    return " ".join(word for word in words if any(map(str.isalnum, word)) and word not in period)


def _read_end(tokens: Sequence[Token], first: int, end: int | None = None) -> str:
    """Return one end of a period: a version, a commit or a date, or words such as "last week"; empty if it is none."""
    words: list[str] = []
    for token in tokens[first : min(end or len(tokens), first + _MAX_PERIOD_WORDS)]:
        if token.text in ("?", ",", ":", "!"):
            break
        if token.is_mask and token.text not in _MASKS_IN_PERIODS:
            break
        word = token.source.strip(_QUOTES)
        words.append(word)
        if _REVISION.fullmatch(word):
            return " ".join(words[-1:])
    text = " ".join(words)
    relative = text.removeprefix("last ").removeprefix("the last ").removeprefix("past ")
    return text if _RELATIVE_UNITS.fullmatch(relative) else ""
