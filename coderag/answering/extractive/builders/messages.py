"""Sections of an answer about a message: the code that writes it, also in parts with values left open, and its callers."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from coderag.answering.evidence.answer_input import AnswerInput
from coderag.answering.evidence.cited_lines import CitedLines
from coderag.answering.evidence.declared import FILE
from coderag.answering.evidence.index_reader import IndexReader
from coderag.answering.evidence.line_reader import MAX_LINE_CHARS
from coderag.answering.extractive.sections import DraftSection, DraftStatement, Excerpt, Part, build_lead
from coderag.answering.extractive.wording import format_code, format_code_line, format_count
from coderag.retrieval.message_search import MessagePlace, find_message_places, strip_error_name
from coderag.schema.query import QueryState
from coderag.schema.vocabulary import Role
from coderag.text.tokenizer import split_raw_tokens, tokenize_text

_ROLES: Final[Sequence[Role]] = ("source", "generated", "config", "vendored", "example", "test", "docs")
"""Where a message is looked for, the likeliest first."""

_MAX_MESSAGES, _MAX_TRIED, _MAX_CHUNKS = 2, 4, 80
_MAX_WRITTEN_LINES = 4  # lines of code that have one message
_MIN_WORDS = 2
_MIN_PAIRS = 2  # fewer are said by many; in a literal they are not
_MANY_PAIRS = 4  # fewer of a literal are looked for at its beginning, all of them
_MIN_SHARE: Final = 0.6  # of the message's pairs of words
_BEFORE, _AFTER = 6, 3  # lines around it that are shown, of the same declaration
_MAX_FURTHER = 3  # places
_MAX_CALLS = 4
_QUOTE: Final = re.compile(r"[\"'`].*")  # the rest of a line from where a literal begins
_COMMENT: Final = re.compile(r"^\s*(?://|#|/?\*|--)")
_VALUE: Final = re.compile(r"\d")
_VALUE_SIGN: Final = re.compile(r"[\d\"'`:(]")  # else the text may be words of a question
_PREFIX: Final = re.compile(r"\b[bfruBFRUL]{1,2}(?=[\"'])")  # of a literal


class _Message(NamedTuple):
    """Possible message; one that stands alone as the question counts only if a literal has it."""

    text: str
    is_literal: bool = False


def build_message(answer_input: AnswerInput, sections: Sequence[DraftSection]) -> DraftSection | None:
    """Build the lead: where each message is written, and in which declaration."""
    del sections
    messages = find_messages(answer_input.reader, answer_input.state)
    return (
        build_lead("message", *(_build_statement(answer_input.reader, places) for places in messages))
        if messages
        else None
    )


def build_writers(answer_input: AnswerInput, sections: Sequence[DraftSection]) -> DraftSection | None:
    """Build the list of calls that lead to the code that writes the message."""
    reader = answer_input.reader
    written = next((lines for section in sections[:1] if section.kind == "message" for lines in section.cited), None)
    around = reader.find_innermost(written.path, written.start_line) if written else None
    if around is None or around.kind == FILE:
        return None
    calls = reader.find_calls(reader.find_call_targets(around), inwards=True)
    calls.sort(key=lambda call: call.source.role == "test")
    statements = [
        DraftStatement([f"{format_code(call.source.name)}: {format_code_line(line.text)} — ", line], "calls")
        for call in calls[:_MAX_CALLS]
        if (line := reader.read_line(call.path, call.line))
    ]
    return DraftSection("writers", statements, f"Calls of {format_code(around.name)}") if statements else None


def find_messages(index: IndexReader, state: QueryState) -> list[list[CitedLines]]:
    """Find where the messages that a question quotes, or consists of, are written; of each all places, the best first."""
    messages = [places for message in _list_messages(state)[:_MAX_TRIED] for places in _find_chain(index, message)]
    return list({places[0]: places for places in reversed(messages)}.values())[::-1][:_MAX_MESSAGES]


def _build_statement(reader: IndexReader, places: Sequence[CitedLines]) -> DraftStatement:
    lines, *further = places
    around = reader.find_innermost(lines.path, lines.start_line)
    is_inside = around is not None and around.kind != FILE
    parts: list[Part] = [
        f"**{format_code(around.name)}** writes this message in " if around and is_inside else "The message is in "
    ]
    parts.append(lines)
    for number, other in enumerate(further[:_MAX_FURTHER]):
        parts += [", also in " if not number else ", ", other]
    if len(further) > _MAX_FURTHER:
        parts.append(f" and {format_count(len(further) - _MAX_FURTHER, 'more place')}")
    first, last = max(lines.start_line - _BEFORE, 1), lines.end_line + _AFTER
    if around and is_inside:
        first, last = max(first, around.start_line), max(min(last, around.end_line), lines.end_line)
    window = reader.read_lines(lines.path, first, last) or lines
    excerpt = Excerpt(window, [range(window.start_line, window.end_line + 1)], reader.get_language(lines.path))
    return DraftStatement([*parts, "."], "quotes", excerpt)


def _list_messages(state: QueryState) -> list[_Message]:
    analysis = state["analysis"]
    if analysis["report"]:
        return [_Message(text) for text in analysis["report"]["messages"]]
    alone = [_Message(state["query"], is_literal=True)] if analysis["is_statement"] else []
    return [*map(_Message, analysis["messages"]), *alone]


def _find_chain(index: IndexReader, message: _Message) -> list[list[CitedLines]]:
    """Return where a message is written, else its parts: an error is often told within what it made fail."""
    text = strip_error_name(message.text)
    templates = find_message_places(index.corpus, text)
    code = [place for place in templates if not place.is_repeated]
    if any(place.is_complete for place in code):
        return [_read_places(index, code)]
    for parts in ([text], text.split(": ")):
        if written := [places for part in parts if (places := _find_written(index, message._replace(text=part)))]:
            return written
    beginnings = [] if message.is_literal and not _VALUE_SIGN.search(text) else code
    return [_read_places(index, beginnings)] if beginnings else []


def _read_places(index: IndexReader, places: Sequence[MessagePlace]) -> list[CitedLines]:
    """Return the lines of the places whose templates are as specific as the first."""
    best = places[0].match
    lines = (
        index.read_lines(index.corpus.paths[index.corpus.chunk_files[place.row]], place.start_line, place.end_line)
        for place in places
        if place.match == best
    )
    return [cited for cited in lines if cited]


def _find_written(index: IndexReader, message: _Message) -> list[CitedLines]:
    """Return the places, of a few lines each, that have most of a message, one word after the other."""
    words = _split_words(message.text)
    wanted = {pair for pair in pairwise(words) if not _VALUE.search("".join(pair))}
    if len(set(words)) < _MIN_WORDS or not wanted:
        return []
    is_literal = message.is_literal or len(wanted) < _MIN_PAIRS
    begins = words[0] if is_literal and len(wanted) < _MANY_PAIRS else ""
    best: tuple[float, int, int] = (1.0 if begins else _MIN_SHARE, -len(_ROLES), -_MAX_WRITTEN_LINES)
    places: list[CitedLines] = []
    for row, text in _iter_likely(index, words):
        lines = text.removesuffix("\n").split("\n")
        path = index.corpus.paths[index.corpus.chunk_files[row]]
        role = index.get_role(path)
        if is_literal and role in ("test", "docs"):
            continue
        written = [_split_words((_cut_literal(line) if is_literal else line)[:MAX_LINE_CHARS]) for line in lines]
        for start, end, share in _iter_windows(written, wanted):
            rank = (share, -_ROLES.index(role), start - end)
            if rank < best or (begins and written[start][:1] != [begins]):
                continue
            first = int(index.corpus.start_lines[row]) + start
            place = CitedLines(path, first, first + end - start, "\n".join(lines[start : end + 1]))
            if rank > best:
                best, places = rank, []
            if not any(
                known.path == path and first <= known.end_line and known.start_line <= place.end_line
                for known in places
            ):
                places.append(place)
    return places


def _cut_literal(line: str) -> str:
    """Return a line from where its first literal begins; empty if it has none, or is a comment."""
    match = None if _COMMENT.match(line) else _QUOTE.search(line)
    return match[0] if match else ""


def _iter_likely(index: IndexReader, words: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield the chunks that have most of some words, with their text."""
    corpus = index.corpus
    term_idf = {term: corpus.idf(term) for word in words for term in tokenize_text(word)}
    rows = index.rank_chunks(term_idf, _MAX_CHUNKS)
    yield from zip(rows, corpus.read_texts(rows), strict=True)


def _iter_windows(lines: Sequence[Sequence[str]], wanted: set[tuple[str, str]]) -> Iterator[tuple[int, int, float]]:
    """Yield runs of lines by their first and last, each with the share of the pairs of words that it has."""
    message_words = {word for pair in wanted for word in pair}
    for start, words in enumerate(lines):
        if not message_words.intersection(words):
            continue
        run: list[str] = []
        for end in range(start, min(start + _MAX_WRITTEN_LINES, len(lines))):
            run += lines[end]
            yield start, end, len(wanted.intersection(pairwise(run))) / len(wanted)


def _split_words(text: str) -> list[str]:
    return [word.lower() for word in split_raw_tokens(_PREFIX.sub("", text))]
