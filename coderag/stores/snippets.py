"""Snippets: chunks with the text and metadata that are shown to a reader, as results or related code."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from coderag.errors import InvalidQueryError
from coderag.schema.query import Candidate, RelatedChunk
from coderag.schema.vocabulary import Relation
from coderag.stores.corpus import Corpus

_RELATION_PHRASES: dict[Relation, str] = {
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
    "value": "`{this}` uses the value `{other}`",
}
_FILE_RELATIONS = frozenset({"imports", "imported_by"})
_MIN_LOOKUP_SCORE = 0.5  # below it, the look-up found only an unresolved reference


@dataclass(frozen=True, slots=True)
class Snippet:
    """A chunk, or the lines of one declaration in it.

    Attributes:
        name: Qualified name; the path's stem for module code.
        members: Other names that the lines declare.
        is_looked_up: Whether it comes from the symbol table or the code graph rather than a search.
        relation: Its relation to the result `related_to`; None for a result.
        origin: Id of the chunk from which it was reached; empty for a result.
        matched_lines: First and last matched line, if the snippet has more lines; else None.
        member_lines: First line of each member, of a type whose members are chunks of their own.
        evidence_line: Line that proves the relation, in this snippet's file or its result's; 0 without one.
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
    is_looked_up: bool = False
    relation: Relation | None = None
    related_to: str = ""
    origin: str = ""
    matched_lines: tuple[int, int] | None = None
    member_lines: Sequence[int] = ()
    evidence_line: int = 0

    @property
    def location(self) -> str:
        """Location as ``path:start-end``."""
        return f"{self.path}:{self.start_line}-{self.end_line}"

    @property
    def key(self) -> tuple[str, int]:
        """Identity among snippets."""
        return self.chunk_id, self.start_line

    @property
    def relation_phrase(self) -> str:
        """Short phrase for its relation to its result; empty for a result."""
        if self.relation is None:
            return ""
        other = self.path if self.relation in _FILE_RELATIONS else self.name
        return _RELATION_PHRASES[self.relation].format(this=self.related_to, other=other)


def build_result_snippets(corpus: Corpus, results: Sequence[Candidate]) -> list[Snippet]:
    """Build the snippets of results, each with its own lines."""
    parts = [[corpus.rows_by_id[chunk] for chunk in result.get("parts", [result["chunk_id"]])] for result in results]
    texts = iter(corpus.read_texts([row for rows in parts for row in rows]))
    return [
        _build_snippet(corpus, rows, [next(texts).removesuffix("\n") for _ in rows], result)
        for rows, result in zip(parts, results, strict=True)
    ]


def find_snippets_at_lines(corpus: Corpus, path: str, start_line: int, end_line: int) -> list[Snippet]:
    """Find the declarations in some lines of a file, each with its own lines.

    Raises:
        InvalidQueryError: The file is not in the index, or has no such lines.
    """
    if path not in corpus.paths:
        raise InvalidQueryError(f"{path} is not in the index", hint="`coderag status` lists indexed and skipped files.")
    rows = corpus.get_chunk_rows(corpus.paths.index(path))
    overlapping = [row for row in rows if corpus.start_lines[row] <= end_line and start_line <= corpus.end_lines[row]]
    if not overlapping:
        raise InvalidQueryError(f"{path} has {corpus.end_lines[rows[-1]]} lines, none of them from {start_line} on")
    return build_result_snippets(corpus, [_clip_to_lines(corpus, row, start_line, end_line) for row in overlapping])


def _clip_to_lines(corpus: Corpus, row: int, start_line: int, end_line: int) -> Candidate:
    """Clip a chunk to some lines; it is named for a declaration there if its own is outside."""
    first, last = int(corpus.start_lines[row]), int(corpus.end_lines[row])
    start, end, symbol = max(start_line, first), min(end_line, last), ""
    if (start, end) != (first, last):
        declared_names = corpus.symbols.list_declared_names(row, start, end)
        symbol = "" if corpus.get_value("qualified_name", row) in declared_names else next(iter(declared_names), "")
    return Candidate(
        chunk_id=corpus.get_value("id", row),
        score=0.0,
        channels={},
        signals={},
        start_line=start,
        end_line=end,
        symbol=symbol,
    )


def trim_blank_end(lines: Sequence[str]) -> Sequence[str]:
    """Return lines without blank ones at their end; the first always stays.

    Chunks hold all lines of a file, so most end with the blank lines before the next declaration.
    """
    end = len(lines)
    while end > 1 and not lines[end - 1].strip():
        end -= 1
    return lines[:end]


def build_related_snippets(corpus: Corpus, related: Sequence[RelatedChunk]) -> list[Snippet]:
    """Build the snippets of related code."""
    rows = [corpus.rows_by_id[related_chunk["chunk_id"]] for related_chunk in related]
    return [
        _build_related_snippet(corpus, row, trim_blank_end(text.split("\n")), related_chunk)
        for row, text, related_chunk in zip(rows, corpus.read_texts(rows), related, strict=True)
    ]


def _build_related_snippet(corpus: Corpus, row: int, lines: Sequence[str], related_chunk: RelatedChunk) -> Snippet:
    start_line = int(corpus.start_lines[row])
    return Snippet(
        chunk_id=related_chunk["chunk_id"],
        path=corpus.get_value("path", row),
        start_line=start_line,
        end_line=min(start_line + len(lines) - 1, int(corpus.end_lines[row])),
        name=corpus.get_value("qualified_name", row),
        kind=corpus.get_value("kind", row),
        language=corpus.get_value("language", row),
        signature=corpus.get_value("signature", row),
        docstring=corpus.get_value("docstring", row),
        summary=corpus.get_value("summary", row),
        text="\n".join(lines),
        score=related_chunk["score"],
        relation=cast("Relation", related_chunk["relation"]),
        related_to=related_chunk["related_to"],
        origin=related_chunk["origin"],
        evidence_line=related_chunk["line"],
    )


def _build_snippet(corpus: Corpus, rows: Sequence[int], texts: Sequence[str], result: Candidate) -> Snippet:
    """Build the snippet of a result: one chunk, or the parts of a long declaration in order."""
    row, first = rows[0], int(corpus.start_lines[rows[0]])
    own_name = corpus.get_value("qualified_name", row)
    lines = "\n".join(texts).split("\n")[result["start_line"] - first : result["end_line"] - first + 1]
    n_lines = len(lines)
    lines = list(trim_blank_end(lines))
    is_whole_chunk = result["symbol"] in ("", own_name)
    return Snippet(
        chunk_id=result["chunk_id"],
        path=corpus.get_value("path", row),
        start_line=result["start_line"],
        end_line=result["end_line"] - (n_lines - len(lines)),
        name=result["symbol"] or own_name,
        kind=corpus.get_value("kind", row) if is_whole_chunk else corpus.symbols.find_kind(row, result["symbol"]),
        language=corpus.get_value("language", row),
        signature=corpus.get_value("signature", row) if is_whole_chunk else lines[0].strip() if lines else "",
        docstring=corpus.get_value("docstring", row) if is_whole_chunk else "",
        summary=corpus.get_value("summary", row) if is_whole_chunk else "",
        text="\n".join(lines),
        score=result["score"],
        is_looked_up=result["channels"].get("lookup", 0.0) >= _MIN_LOOKUP_SCORE,
    )
