"""An answer without a language model, from the evidence and the index: each statement with the lines that it rests on."""

from collections.abc import Sequence
from dataclasses import replace

from coderag.answering.draft import Draft
from coderag.answering.extractive.comparison import write_comparison
from coderag.answering.extractive.definition import write_definition
from coderag.answering.extractive.explanation import write_explanation
from coderag.answering.extractive.flow_steps import write_flow
from coderag.answering.extractive.index import Index
from coderag.answering.extractive.messages import find_messages, write_messages
from coderag.answering.extractive.not_found import unknown, unknown_names, write_not_found
from coderag.answering.extractive.occurrences import occurrences, write_occurrences, write_said_of
from coderag.answering.extractive.overview import write_overview
from coderag.answering.extractive.pieces import also
from coderag.answering.extractive.prototypes import prefer_definitions
from coderag.answering.extractive.unused import write_unused
from coderag.answering.extractive.usages import write_usages
from coderag.answering.extractive.writer import Writer, code, joined, prose
from coderag.answering.flow import find_flow
from coderag.answering.shapes import choose_shape
from coderag.question.literals import is_plain_word
from coderag.retrieval.query_context import QueryContext
from coderag.schema.query import Analysis, QueryState
from coderag.schema.vocabulary import AnswerShape
from coderag.stores.snippets import Snippet, find_snippets_at_lines
from coderag.stores.spelling_index import MIN_SIMILARITY

_MOST_NEXT = 8  # results
_MOST_SAID = 2  # names of settings and options


def extract(context: QueryContext, state: QueryState, results: Sequence[Snippet], related: Sequence[Snippet]) -> Draft:
    """Return the answer to a question, in the shape that it asks for.

    What the question needs beyond the results (all callers, the calls between two places) is read from the index. Where that
    knows nothing of it, the answer explains the results.

    Args:
        context: Of the query.
        state: With analysis, results and evidence.
        results: The results as pieces, best first.
        related: Code that belongs to them.
    """
    writer, index = Writer(), Index(context, state.get("filters"))
    results = prefer_definitions(index, results)
    shape = choose_shape(state)
    if write_overview(writer, index, state, context.project):
        return writer.draft("explanation")
    if state["analysis"].get("about_unused") and (missing := write_unused(writer, index, state, results)) is not None:
        return writer.draft("usages", missing)
    messages = find_messages(index, state)
    write_messages(writer, index, messages)
    if shape == "not_found":
        if messages:
            return writer.draft("explanation")
        return writer.draft(shape, write_not_found(writer, index, state, results))
    if not messages:
        _verdict(writer, state)
    missing = _write(writer, index, shape, state, results, related)
    if missing is None:
        missing = unknown_names(index, state)
        for sentence in missing:
            writer.say(f"*{sentence}*\n")
        is_of_a_name = shape in ("definition", "usages")
        if _write_literal(writer, index, state):
            shape = "explanation"
            also(writer, index, results[:_MOST_NEXT], "Read next")
        elif not (
            is_of_a_name and (_write_written(writer, index, state) or _write_nearly_named(writer, index, shape, state))
        ):
            shape = "explanation"
            _write_said(writer, index, state)
            is_answered = bool(messages) and state["analysis"]["report"] is None
            write_explanation(writer, index, state, results, related, is_answered=is_answered)
    return writer.draft(shape, missing)


def _write_written(writer: Writer, index: Index, state: QueryState) -> bool:
    """Write where a name that is asked for is written though nothing is known to declare it; whether it is."""
    for name in unknown(index, state):
        if places := occurrences(index, name):
            write_occurrences(writer, name, places)
            return True
    return False


def _write_literal(writer: Writer, index: Index, state: QueryState) -> bool:
    """Write where the literal is written that is all that is asked for; whether it is."""
    analysis = state["analysis"]
    if not analysis["literal_query"] or is_plain_word(analysis["literals"][0]):
        return False
    if places := occurrences(index, analysis["literals"][0]):
        write_occurrences(writer, analysis["literals"][0], places)
    return bool(places)


def _write_said(writer: Writer, index: Index, state: QueryState) -> None:
    """Write the lines that tell of a name that nothing is known to declare, for the results may be about all the rest."""
    names = [name for name in unknown(index, state) if len(index.corpus.find_chunks_with_name(name))][:1]
    literals = [
        name for name in state["analysis"]["literals"] if " " not in name and not index.corpus.symbols.find(name)
    ]
    for name in list(dict.fromkeys([*names, *literals]))[:_MOST_SAID]:
        if places := occurrences(index, name):
            write_said_of(writer, index, state["analysis"]["question"], name, places)


def _write_nearly_named(writer: Writer, index: Index, shape: AnswerShape, state: QueryState) -> bool:
    """Write about what is spelt nearly like the name that is asked for and that nothing has; whether there is such."""
    for name in unknown(index, state):
        if len(index.corpus.find_chunks_with_name(name)):  # it is no misspelling
            continue
        for near in index.corpus.symbols.find_spellings(name, 1):
            declared = index.named(near.word)
            if near.quality < MIN_SIMILARITY or not declared:
                continue
            analysis: Analysis = {
                **state["analysis"],
                "entities": [{"kind": "identifier", "text": near.word}],
                "reading": {**state["analysis"]["reading"], "subjects": [near.word]},
            }
            about: QueryState = {**state, "analysis": analysis}
            found = [
                replace(piece, name=one.name, kind=one.kind, is_looked_up=True)
                for one in declared
                for piece in find_snippets_at_lines(index.corpus, one.path, one.start_line, one.end_line)[:1]
            ]
            writer.say(f"This is about {code(near.word)}:\n")
            if shape == "usages":
                return write_usages(writer, index, about, found) is not None
            write_definition(writer, index, about, found)
            return True
    return False


def _write(
    writer: Writer,
    index: Index,
    shape: AnswerShape,
    state: QueryState,
    results: Sequence[Snippet],
    related: Sequence[Snippet],
) -> Sequence[str] | None:
    """Write an answer in a shape, and return what is missing; None, and nothing written, if the index has nothing for it."""
    if shape == "usages":
        return write_usages(writer, index, state, results)
    if shape == "comparison":
        return write_comparison(writer, index, state, results)
    if shape == "flow" and (flow := find_flow(index, state, [*results, *related])):
        return write_flow(writer, index, flow)
    if shape == "definition" and any(piece.is_looked_up for piece in results):
        write_definition(writer, index, state, results)
        return []
    return None


def _verdict(writer: Writer, state: QueryState) -> None:
    """Write how good the evidence is, unless it is good."""
    if state["evidence"] == "unknown":
        files = [file.partition(": ") for file in state["judgement"]["not_indexed"]]
        named = joined([f"{code(path)} ({prose(reason)})" for path, _, reason in files])
        writer.say(f"*The answer may be in files that are not in the index: {named}.*\n")
    if state["evidence"] == "weak":
        writer.say("*The evidence is weak: this is the nearest that the index has, not a sure answer.*\n")
