"""Chunks as they are shown to a reader: a result or related code with its text and the facts about it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from coderag.schema import Relation
from coderag.state import Candidate, RelatedChunk
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
_KNOWN = 0.5  # of the look-up; what is less sure is an unresolved reference, no answer


@dataclass(frozen=True, slots=True)
class Piece:
    """A chunk, or the lines of one declaration in it.

    Attributes:
        name: Qualified name; the path's stem for module code.
        members: Other names that the lines declare.
        looked_up: Whether the symbol table or the code graph named it, rather than a search.
        relation: How it belongs to the result `related_to`; None for a result.
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
    rows = [corpus.row_of[result["chunk_id"]] for result in results]
    return [
        _result(corpus, row, text, result) for row, text, result in zip(rows, corpus.texts(rows), results, strict=True)
    ]


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
            relation=cast(Relation, entry["relation"]),
            related_to=entry["related_to"],
        )
        for row, text, entry in zip(rows, corpus.texts(rows), related, strict=True)
    ]


def _result(corpus: Corpus, row: int, text: str, result: Candidate) -> Piece:
    first = int(corpus.start_lines[row])
    own_name = corpus.value("qualified_name", row)
    lines = text.removesuffix("\n").split("\n")[result["start_line"] - first : result["end_line"] - first + 1]
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
