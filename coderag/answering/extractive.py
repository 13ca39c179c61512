"""An answer without a language model: what was found, where, what it says of itself, and how the pieces relate.

Every statement ends with the place it rests on, as ``path:start-end``.
"""

import re
from collections.abc import Sequence

from coderag.answering.citations import Claim
from coderag.schema import NAMED_BY_FILE, Intent
from coderag.state import QueryState
from coderag.stores.pieces import Piece

_SHOWN_IN_FULL = 3
_SHOWN_AS_LIST = 12
_MOST_ALSO = 5
_MOST_RELATIONS = 6
_LONGEST_CODE = 30  # lines of the best result that are shown as they are
_LONGEST_HEAD = 8  # lines of the others
_LONGEST_DOCSTRING = 600
_BACKTICKS = re.compile(r"`{3,}")
_PARAGRAPH = re.compile(r"\n\s*\n")

_LIST_LEADS: dict[Intent, tuple[str, str]] = {
    "find_usage": ("One place in this repository uses `{name}`", "{n} places in this repository use `{name}`"),
    "hierarchy": ("One type is related to `{name}`", "{n} types are related to `{name}`"),
    "find_tests": ("One place in the tests uses `{name}`", "{n} places in the tests use `{name}`"),
}
"""How a list of places begins: for one, and for several."""


def extract(state: QueryState, results: Sequence[Piece], related: Sequence[Piece]) -> tuple[str, list[Claim]]:
    """Return the answer in Markdown and the lines that it cites, in the order of their citations."""
    writer = _Writer()
    if not results:
        return "Nothing in the index answers this.", []
    if state["evidence"] == "unknown":
        missing = "; ".join(state["judgement"]["not_indexed"])
        writer.line(f"*The answer may be in files that are not in the index: {missing}.*\n")
    if state["evidence"] == "weak":
        writer.line("*The evidence is weak: this is the nearest that the index has, not a sure answer.*\n")
    if state["evidence"] == "not_found":
        writer.line("*Nothing in the index seems to answer this. The nearest that it has:*\n")
    looked_up = [piece for piece in results if piece.looked_up]
    intent = state["analysis"]["intent"]
    name = next((entity["text"] for entity in state["analysis"]["entities"] if entity["kind"] in _NAMES), "")
    if intent in _LIST_LEADS and looked_up:
        _list_places(writer, _LIST_LEADS[intent][len(looked_up) > 1], looked_up, name)
        rest = [piece for piece in results if not piece.looked_up]
        _also(writer, rest, "Also near")
    elif intent == "find_definition" and looked_up:
        _definition(writer, name, looked_up)
        _relations(writer, related)
        _also(writer, [piece for piece in results if not piece.looked_up][:_MOST_ALSO], "See also")
    else:
        _explanation(writer, results, related)
    return writer.text, writer.claims


_NAMES = frozenset({"identifier", "qualified_name"})


class _Writer:
    """Collects the text and its citations; a place that is cited twice is one citation."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._claims: dict[Claim, None] = {}

    def line(self, text: str = "") -> None:
        self._lines.append(text)

    def cite(self, piece: Piece) -> str:
        """Return the place of a piece as a citation."""
        self._claims.setdefault(Claim(piece.path, piece.start_line, piece.end_line, piece.text))
        return f"`{piece.location}`"

    @property
    def text(self) -> str:
        return "\n".join(self._lines).strip() + "\n"

    @property
    def claims(self) -> list[Claim]:
        return list(self._claims)


def _definition(writer: _Writer, name: str, declared: Sequence[Piece]) -> None:
    best = declared[0]
    where = f"declared as a {best.kind.replace('_', ' ')} in {writer.cite(best)}"
    more = len(declared) - 1
    others = f", and in {more} other {'place' if more == 1 else 'places'}" if more else ""
    writer.line(f"**`{best.name or name}`** is {where}{others}.\n")
    _body(writer, best, _LONGEST_CODE)
    if len(declared) > 1:
        writer.line(f"\nOther declarations of `{name}`:\n")
        for piece in declared[1:_SHOWN_AS_LIST]:
            writer.line(f"- `{piece.name}` ({piece.kind.replace('_', ' ')}) — {writer.cite(piece)}")


def _list_places(writer: _Writer, lead: str, places: Sequence[Piece], name: str) -> None:
    writer.line(f"**{lead.format(n=len(places), name=name)}:**\n")
    for piece in places[:_SHOWN_AS_LIST]:
        evidence = _evidence_line(piece, name)
        shown = f": `{evidence}`" if evidence else ""
        writer.line(f"- `{piece.name}` ({piece.kind.replace('_', ' ')}) — {writer.cite(piece)}{shown}")
    if len(places) > _SHOWN_AS_LIST:
        writer.line(f"- and {len(places) - _SHOWN_AS_LIST} more")


def _evidence_line(piece: Piece, name: str) -> str:
    """Return the first line of a piece that has the name."""
    last = re.split(r"\W+", name.rstrip("()"))[-1]
    word = re.compile(rf"(?<!\w){re.escape(last)}(?!\w)")
    line = next((line.strip() for line in piece.text.split("\n") if word.search(line)), "")
    return line.replace("`", "'")


def _explanation(writer: _Writer, results: Sequence[Piece], related: Sequence[Piece]) -> None:
    main = results[:_SHOWN_IN_FULL]
    files = list(dict.fromkeys(piece.path for piece in main))
    writer.line(f"The code for this is mainly in {_and([f'`{path}`' for path in files])}.\n")
    for number, piece in enumerate(main, 1):
        summary = f" — {piece.summary}" if piece.summary else ""
        writer.line(f"{number}. **`{piece.name}`** ({piece.kind.replace('_', ' ')}, {writer.cite(piece)}){summary}\n")
        _body(writer, piece, _LONGEST_CODE if number == 1 else _LONGEST_HEAD)
        writer.line()
    _relations(writer, related)
    _also(writer, results[_SHOWN_IN_FULL : _SHOWN_IN_FULL + _MOST_ALSO], "See also")


def _body(writer: _Writer, piece: Piece, longest: int) -> None:
    """Write what a piece says of itself: its code or the head of it, and its documentation where that is not in it."""
    lines = piece.text.strip("\n").split("\n")
    if len(lines) - longest > 1:
        first = _line_of_name(piece, lines)
        shown = lines[first : first + longest]
        lines = [*shown, f"… {len(lines) - len(shown)} more lines"]
    documentation = _paragraphs(piece.docstring)
    if documentation.split("\n", 1)[0] not in "\n".join([*lines, piece.summary]):
        writer.line("\n".join(f"   > {line}".rstrip() for line in documentation.split("\n")) + "\n")
    fence = "`" * max([3, *(len(run) + 1 for run in _BACKTICKS.findall(piece.text))])
    writer.line("\n".join(f"   {line}".rstrip() for line in (f"{fence}{piece.language}", *lines, fence)))


def _line_of_name(piece: Piece, lines: Sequence[str]) -> int:
    """Return where the name of a piece first stands: small declarations share a chunk, and another may come before."""
    if piece.kind in NAMED_BY_FILE:
        return 0
    word = re.compile(rf"(?<!\w){re.escape(re.split(r'[.:#/]', piece.name)[-1])}(?!\w)")
    return next((number for number, line in enumerate(lines[:-1]) if word.search(line)), 0)


def _paragraphs(docstring: str) -> str:
    """Return the first paragraphs of a docstring, at most 600 characters."""
    shown: list[str] = []
    for paragraph in _PARAGRAPH.split(docstring.strip()):
        if shown and sum(map(len, shown)) + len(paragraph) > _LONGEST_DOCSTRING:
            break
        shown.append(paragraph)
    return "\n\n".join(shown)[: 2 * _LONGEST_DOCSTRING]


def _relations(writer: _Writer, related: Sequence[Piece]) -> None:
    shown = [piece for piece in related if piece.relation != "sibling"][:_MOST_RELATIONS]
    if shown:
        writer.line("\n**How the pieces relate**\n")
        for piece in shown:
            writer.line(f"- {piece.phrase} — {writer.cite(piece)}")


def _also(writer: _Writer, pieces: Sequence[Piece], title: str) -> None:
    if pieces:
        writer.line(f"\n**{title}**\n")
        for piece in pieces[:_MOST_ALSO]:
            summary = f": {piece.summary}" if piece.summary else ""
            writer.line(f"- `{piece.name}` — {writer.cite(piece)}{summary}")


def _and(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
