"""Tell where something is declared, show it, and say what is in it and where it is used most."""

from collections import Counter
from collections.abc import Sequence

from coderag.answering.extractive.absent import write_absent
from coderag.answering.evidence.index_reader import TYPES, Declared, IndexReader
from coderag.answering.extractive.pieces import also, show, whole
from coderag.answering.evidence.relation_groups import KINDS, Groups, users_of
from coderag.answering.extractive.wording import (
    Writer,
    a_kind,
    code,
    code_line,
    command,
    counted,
    first_sentence,
    joined,
    kind_name,
    lines_of,
)
from coderag.schema.graph import GraphNeighbour
from coderag.schema.query import QueryState
from coderag.schema.vocabulary import FILE_NAMED_KINDS
from coderag.stores.snippets import Snippet
from coderag.stores.symbol_table import fold_name, split_qualified

_LONGEST, _LONGEST_OF_SEVERAL = 30, 12  # lines of code
_MOST_DECLARATIONS, _MOST_MEMBERS, _MOST_FILES, _MOST_ALSO = 8, 14, 4, 3
_MOST_NAMES = 3
_USING = ("called", "referenced", "imported")
_FIELDS = frozenset({"field", "variable", "constant"})


def write_definition(writer: Writer, index: IndexReader, state: QueryState, results: Sequence[Snippet]) -> None:
    """Write where each thing that was looked up is declared.

    Args:
        writer: Of the answer.
        index: The open index.
        state: With the analysis.
        results: Some of which were looked up.
    """
    looked_up = [piece for piece in results if piece.is_looked_up]
    names = [one["text"] for one in state["analysis"]["entities"] if one["kind"] in ("identifier", "qualified_name")]
    if write_absent(writer, index, names):
        also(writer, index, [piece for piece in results if not piece.is_looked_up][:_MOST_ALSO], "See also")
        return
    by_name = {name: [piece for piece in looked_up if _last(piece.name) == _last(name)] for name in names}
    groups = [pieces for pieces in by_name.values() if pieces][:_MOST_NAMES] or [looked_up]
    longest = _LONGEST if len(groups) == 1 else _LONGEST_OF_SEVERAL
    for pieces in groups:
        _declaration(writer, index, pieces, longest)
        writer.say()
    also(writer, index, [piece for piece in results if not piece.is_looked_up][:_MOST_ALSO], "See also")


def _last(name: str) -> str:
    return fold_name((split_qualified(name) or [name])[-1])


def _declaration(writer: Writer, index: IndexReader, pieces: Sequence[Snippet], longest: int) -> None:
    best = pieces[0]
    declared = index.of_piece(best) if best.kind not in FILE_NAMED_KINDS else None
    lines = (declared and index.lines_of(declared)) or lines_of(best)
    same = [piece for piece in pieces[1:] if piece.name == best.name]
    others = f", and in {counted(len(same), 'other place')}" if same else ""
    summary = first_sentence(index.summary(declared) if declared else best.docstring)
    of_lines = f" of {counted(declared.length, 'line')}" if declared and declared.length > longest else ""
    said = f"{'.' if others else ':'} {summary}" if summary else "."
    what = f"{a_kind(declared.kind if declared else best.kind)}{of_lines}"
    writer.say(f"**{code(best.name)}** is declared as {what} in {writer.cite(lines)}{others}{said}\n")
    show(writer, whole(index, best), longest)
    if declared:
        users = users_of(index, declared)
        _relatives(writer, index, declared, users)
        if declared.kind in TYPES:
            _members(writer, index, declared, fields=declared.length > longest)
        _used(writer, index, declared, users)
    if len(pieces) > 1:
        of_others = "" if same else ", which are no part of it"
        writer.heading(f"Other declarations called {code(best.name.rpartition('.')[2])}{of_others}")
        for piece in pieces[1:_MOST_DECLARATIONS]:
            writer.say(f"- {code(piece.name)} ({kind_name(piece.kind)}) — {writer.cite(lines_of(piece))}")
        if len(pieces) > _MOST_DECLARATIONS:
            writer.say(f"- and {len(pieces) - _MOST_DECLARATIONS:,} more")


def _relatives(writer: Writer, index: IndexReader, declared: Declared, users: Groups) -> None:
    """Write what a declaration extends or overrides, and what does so to it."""
    graph = index.graph
    bases = graph.bases(declared.key) if declared.kind in TYPES else []
    lists = (
        ("Extends", [one for one in bases if one.relation == "base"]),
        ("Implements", [one for one in bases if one.relation == "interface_of"]),
        ("Extended by", users["derived"]),
        ("Overrides", graph.overridden(declared.key) if declared.kind == "method" else []),
        ("Overridden by", graph.overrides(declared.key) if declared.kind == "method" else []),
    )
    shown = [(title, found) for title, found in lists if found]
    if shown:
        writer.heading("Relatives")
    for title, found in shown:
        names = list(dict.fromkeys(_relative(declared, one) for one in found))
        more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
        lines = [line for one in found[:_MOST_NAMES] if (line := index.line(one.evidence, one.line))]
        places = ", ".join(dict.fromkeys(map(writer.cite, lines)))
        writer.say(f"- {title} {', '.join(names[:_MOST_NAMES])}{more} — {places}")


def _relative(declared: Declared, one: GraphNeighbour) -> str:
    """Return the name of a relative, with its file if it has the same name."""
    name = code(one.qualified_name)
    return f"{name} of {code(one.path)}" if one.qualified_name == declared.name and one.path else name


def _members(writer: Writer, index: IndexReader, declared: Declared, *, fields: bool) -> None:
    """Write the members of a type, its fields only where the code that is shown has not all of them."""
    members = [one for one in index.members(declared) if fields or one.kind not in _FIELDS]
    if members:
        writer.heading(f"Members ({len(members)})")
    for member in members[:_MOST_MEMBERS]:
        head = index.head_of(member)
        signature = index.signature(member) or (head.text if head else member.name)
        summary = first_sentence(index.summary(member))
        where = f" — {writer.cite(head)}" if head else ""
        writer.say(f"- {code_line(signature.rstrip(' :{'))}{f': {summary}' if summary else ''}{where}")
    if len(members) > _MOST_MEMBERS:
        writer.say(f"- and {len(members) - _MOST_MEMBERS} more: {command('outline', declared.path)}")


def _used(writer: Writer, index: IndexReader, declared: Declared, users: Groups) -> None:
    """Write how often a declaration is used, and the files that do so most, each with its first line of evidence."""
    using = [one for kind in _USING for one in users[kind]]
    tests = users["tested"]
    if not using and not tests:
        return
    files = Counter(one.evidence for one in using or tests)
    counts = (
        [counted(len(using), "place") + " in " + counted(len({one.evidence for one in using}), "file")] if using else []
    )
    counts += [counted(len(tests), "place in tests", "places in tests")] if tests else []
    writer.heading(f"Used in {joined(counts)}")
    for path, number in files.most_common(_MOST_FILES):
        first = next(one for one in using or tests if one.evidence == path)
        _use(writer, index, first, number)
    rest = len(files) - _MOST_FILES
    if rest > 0:
        kinds = [kind for kind in _USING if users[kind]] if using else ["tested"]
        verbs = [(verb, index.askable(verb, declared.name)) for verb in (KINDS[kind].command for kind in kinds)]
        listing = joined([command(verb, name) for verb, name in verbs if name])
        writer.say(f"- and in {counted(rest, 'more file')}{f': {listing}' if listing else ''}")


def _use(writer: Writer, index: IndexReader, first: GraphNeighbour, number: int) -> None:
    line = index.line(first.evidence, first.line)
    if line is None:
        return
    user = f" in {code(first.qualified_name)}" if first.kind != "file" and first.qualified_name != "_" else ""
    more = f", and {number - 1} more in this file" if number > 1 else ""
    writer.say(f"- {code_line(line.text)}{user} — {writer.cite(line)}{more}")
