"""Explain: the main pieces with what each is for, how they belong together, and what else to read."""

from collections.abc import Sequence

from coderag.answering.extractive.excerpt import rarities_of
from coderag.answering.extractive.failures import write_failures
from coderag.answering.evidence.index_reader import IndexReader
from coderag.answering.extractive.pieces import also, reason, relations, show, whole
from coderag.answering.extractive.wording import Writer, code, code_line, joined, kind_name, lines_of, shown_name
from coderag.schema.query import QueryState
from coderag.stores.snippets import Snippet

_MAIN, _MOST_ALSO, _MOST_RELATIONS = 3, 5, 6
_LONGEST, _LONGEST_OF_OTHERS = 30, 8  # lines of code
_INDENT = "   "  # below a numbered entry


def write_explanation(
    writer: Writer,
    index: IndexReader,
    state: QueryState,
    results: Sequence[Snippet],
    related: Sequence[Snippet],
    *,
    is_answered: bool = False,
) -> None:
    """Write what the best results say; where they are but what is near to the answer, only what they are.

    Args:
        writer: Of the answer.
        index: The open index.
        state: With the analysis.
        results: At least one, best first.
        related: Code that belongs to them.
        is_answered: Whether what answers has been written before them.
    """
    asks_of_failing = state["analysis"]["reading"]["kind"] == "failure" and state["analysis"]["report"] is None
    if is_answered or (asks_of_failing and write_failures(writer, index, state)):
        also(writer, index, results[: _MAIN + _MOST_ALSO], "Read next")
        return
    main = [whole(index, piece) for piece in results[:_MAIN]]
    files = list(dict.fromkeys(code(piece.path) for piece in main))
    similar = state["analysis"]["intent"] == "find_similar"
    what = "text" if all(piece.kind == "section" for piece in main) else "code"
    writer.say(f"{'Code like it' if similar else f'The {what} for this'} is mainly in {joined(files)}.\n")
    rarities = rarities_of(index, state)
    for number, piece in enumerate(main, 1):
        why = reason(index, piece)
        where = f"{kind_name(piece.kind)} in {writer.cite(lines_of(piece))}"
        writer.say(f"{number}. **{code(shown_name(piece))}** — {where}{f'  {chr(10)}{_INDENT}{why}' if why else ''}\n")
        show(writer, piece, _LONGEST if number == 1 else _LONGEST_OF_OTHERS, _INDENT, rarities)
        writer.say()
    said = _among(writer, index, main)
    relations(writer, index, state, related, _MOST_RELATIONS, said)
    also(writer, index, results[_MAIN : _MAIN + _MOST_ALSO], "Read next")


def _among(writer: Writer, index: IndexReader, main: Sequence[Snippet]) -> set[str]:
    """Write the calls between the main pieces, each with its line, and return what was said."""
    declared = {one.node: one for piece in main if (one := index.of_piece(piece)) and one.kind != "file"}
    acting = {actor: node for node in declared for actor in index.acting(node)}
    calls = [
        (declared[acting[call.source.node]], declared[acting[call.target.node]], call)
        for call in index.calls(acting)
        if call.target.node in acting and acting[call.source.node] != acting[call.target.node]
    ]
    first = {(source.node, target.node): (source, target, call) for source, target, call in reversed(calls)}
    if first:
        writer.heading("How they work together")
    said = set()
    for source, target, call in first.values():
        if line := index.line(call.path, call.line):
            phrase = f"{code(source.name)} calls {code(target.name)}"
            writer.say(f"- {phrase}: {code_line(line.text)} — {writer.cite(line)}")
            said.add(phrase)
    return said
