"""Chunks as they are shown to a reader: a result or related code with its text and the facts about it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from coderag.errors import InvalidQueryError
from coderag.schema.query import Candidate, QueryState, RelatedChunk
from coderag.schema.vocabulary import Relation
from coderag.stores.corpus import Corpus

_PHRASES: dict[Relation, str] = {
    "caller": "`{other}` calls `{this}`",
    "callee": "`{this}` calls `{other}`",
    "contains": "`{this}` contains `{other}`",
    "contained_by": "`{this}` is part of `{other}`",
    "sibling": "`{other}` is beside `{this}`",
    "imports": "the file of `{this}` imports `{other}`",
    "imported_by": "`{other}` imports the file of `{this}`",
    "test_for": "`{other}` tests `{this}`",
    "base": "`{this}` extends `{other}`",
    "derived": "`{other}` extends `{this}`",
    "interface_of": "`{other}` is the interface of `{this}`",
}
_OF_FILES = frozenset({"imports", "imported_by"})
_COMPLETED = 5  # results
_MOST_PARTS = 4  # of a declaration, before and behind the one that was found
_KNOWN = 0.5  # of the look-up; what is less sure is an unresolved reference, no answer


@dataclass(frozen=True, slots=True)
class Piece:
    """A chunk, or the lines of one declaration in it.

    Attributes:
        name: Qualified name; the path's stem for module code.
        members: Other names that the lines declare.
        looked_up: Whether the symbol table or the code graph named it, rather than a search.
        relation: How it belongs to the result `related_to`; None for a result.
        found: First and last of the lines that were found, where the piece has more; None if it is all of them.
    """

    chunk_id: str
    path: str
    start_line: int
    end_line: int
    name: str
    kind: str
    language: str
    signature: str
    docstring: str
    summary: str
    text: str
    score: float = 0.0
    looked_up: bool = False
    relation: Relation | None = None
    related_to: str = ""
    found: tuple[int, int] | None = None

    @property
    def location(self) -> str:
        """The place as ``path:start-end``."""
        return f"{self.path}:{self.start_line}-{self.end_line}"

    @property
    def key(self) -> tuple[str, int]:
        """What tells it from other pieces."""
        return self.chunk_id, self.start_line

    @property
    def phrase(self) -> str:
        """How it belongs to its result, in a few words; empty for a result."""
        if self.relation is None:
            return ""
        other = self.path if self.relation in _OF_FILES else self.name
        return _PHRASES[self.relation].format(this=self.related_to, other=other)


def result_pieces(corpus: Corpus, results: Sequence[Candidate]) -> list[Piece]:
    """Return results as pieces, each with the lines that it names."""
    parts = [[corpus.row_of[chunk] for chunk in result.get("parts", [result["chunk_id"]])] for result in results]
    texts = iter(corpus.texts([row for rows in parts for row in rows]))
    return [
        _result(corpus, rows, [next(texts).removesuffix("\n") for _ in rows], result)
        for rows, result in zip(parts, results, strict=True)
    ]


def context_pieces(corpus: Corpus, state: QueryState) -> tuple[list[Piece], list[Piece], list[Piece]]:
    """Return what a context is made of: results, further candidates and related code, each best first.

    The first results have all parts of their declaration, where it is so long that it has several.
    """
    ranked = result_pieces(corpus, state.get("to_read") or state["results"])
    results, reserve = ranked[: len(state["results"])], ranked[len(state["results"]) :]
    whole = [_whole(corpus, piece) for piece in results[:_COMPLETED]]
    return [*whole, *results[_COMPLETED:]], reserve, related_pieces(corpus, state["related"])


def pieces_of_lines(corpus: Corpus, path: str, start_line: int, end_line: int) -> list[Piece]:
    """Return the declarations in some lines of a file, each with those of its lines.

    Raises:
        InvalidQueryError: The file is not in the index, or has no such lines.
    """
    if path not in corpus.paths:
        raise InvalidQueryError(
            f"{path} is not in the index", hint="`coderag status` says what is, and what was skipped."
        )
    rows = corpus.chunk_rows(corpus.paths.index(path))
    inside = [row for row in rows if corpus.start_lines[row] <= end_line and start_line <= corpus.end_lines[row]]
    if not inside:
        raise InvalidQueryError(f"{path} has {corpus.end_lines[rows[-1]]} lines, none of them from {start_line} on")
    return result_pieces(corpus, [_lines_of(corpus, row, start_line, end_line) for row in inside])


def _lines_of(corpus: Corpus, row: int, start_line: int, end_line: int) -> Candidate:
    """Return those of some lines that a chunk has, called like what they declare if the chunk is called like something else."""
    first, last = int(corpus.start_lines[row]), int(corpus.end_lines[row])
    start, end, symbol = max(start_line, first), min(end_line, last), ""
    if (start, end) != (first, last):
        declared = corpus.symbols.declared_in(row, start, end)
        symbol = "" if corpus.value("qualified_name", row) in declared else next(iter(declared), "")
    return Candidate(
        chunk_id=corpus.value("id", row),
        score=0.0,
        file_score=0.0,
        channels={},
        signals={},
        start_line=start,
        end_line=end,
        symbol=symbol,
    )


def related_pieces(corpus: Corpus, related: Sequence[RelatedChunk]) -> list[Piece]:
    """Return related code as pieces."""
    rows = [corpus.row_of[entry["chunk_id"]] for entry in related]
    return [
        Piece(
            chunk_id=entry["chunk_id"],
            path=corpus.value("path", row),
            start_line=int(corpus.start_lines[row]),
            end_line=int(corpus.end_lines[row]),
            name=corpus.value("qualified_name", row),
            kind=corpus.value("kind", row),
            language=corpus.value("language", row),
            signature=corpus.value("signature", row),
            docstring=corpus.value("docstring", row),
            summary=corpus.value("summary", row),
            text=text,
            score=entry["score"],
            relation=cast("Relation", entry["relation"]),
            related_to=entry["related_to"],
        )
        for row, text, entry in zip(rows, corpus.texts(rows), related, strict=True)
    ]


def _whole(corpus: Corpus, piece: Piece) -> Piece:
    """Return a piece with the parts of its declaration before and behind it."""
    row = corpus.row_of[piece.chunk_id]
    found = int(corpus.start_lines[row]), int(corpus.end_lines[row])
    if (piece.start_line, piece.end_line) != found:  # one member of a chunk, or several parts already
        return replace(piece, found=found) if piece.start_line <= found[0] and found[1] <= piece.end_line else piece
    rows = _parts(corpus, row)
    if len(rows) == 1:
        return piece
    lines = [line for text in corpus.texts(rows) for line in text.removesuffix("\n").split("\n")]
    return replace(
        piece,
        start_line=int(corpus.start_lines[rows[0]]),
        end_line=int(corpus.end_lines[rows[-1]]),
        text="\n".join(lines),
        signature=corpus.value("signature", rows[0]),
        found=found,
    )


def _parts(corpus: Corpus, row: int) -> range:
    """Return the chunks of one declaration: neighbours of one name that follow each other line by line."""
    within = corpus.chunk_rows(int(corpus.file_of[row]))
    name, first, last = corpus.value("qualified_name", row), row, row

    def follows(above: int, below: int) -> bool:
        same = corpus.value("qualified_name", above) == corpus.value("qualified_name", below) == name
        return same and corpus.start_lines[below] == corpus.end_lines[above] + 1

    while name and first > max(within.start, row - _MOST_PARTS) and follows(first - 1, first):
        first -= 1
    while name and last + 1 < min(within.stop, row + _MOST_PARTS) and follows(last, last + 1):
        last += 1
    return range(first, last + 1)


def _result(corpus: Corpus, rows: Sequence[int], texts: Sequence[str], result: Candidate) -> Piece:
    """Return a result as a piece; it is one chunk, or the parts of a long declaration in their order."""
    row, first = rows[0], int(corpus.start_lines[rows[0]])
    own_name = corpus.value("qualified_name", row)
    lines = "\n".join(texts).split("\n")[result["start_line"] - first : result["end_line"] - first + 1]
    whole = result["symbol"] in ("", own_name)
    return Piece(
        chunk_id=result["chunk_id"],
        path=corpus.value("path", row),
        start_line=result["start_line"],
        end_line=result["end_line"],
        name=result["symbol"] or own_name,
        kind=corpus.value("kind", row) if whole else corpus.symbols.kind_of(row, result["symbol"]),
        language=corpus.value("language", row),
        signature=corpus.value("signature", row) if whole else lines[0].strip() if lines else "",
        docstring=corpus.value("docstring", row) if whole else "",
        summary=corpus.value("summary", row) if whole else "",
        text="\n".join(lines),
        score=result["score"],
        looked_up=result["channels"].get("lookup", 0.0) >= _KNOWN,
    )
