"""The chunks of a file that was parsed: each with the declarations, imports and calls in it."""

from bisect import bisect_left
from collections.abc import Sequence
from typing import Final

from coderag.ingestion.parsing.declaration_records import CALLABLE, CLASS_LIKE, CONTAINERS, Declaration
from coderag.ingestion.parsing.declarations import Syntax
from coderag.ingestion.parsing.doc_comments import clean_comment, clean_docstring, signature_of
from coderag.ingestion.parsing.layout import Piece
from coderag.ingestion.parsing.line_layout import make_layout
from coderag.ingestion.parsing.parsed_file import ParsedChunk, SourceFile, module_name, place_of
from coderag.ingestion.parsing.regions import Region
from coderag.ingestion.parsing.spans import MOST_CALLS
from coderag.ingestion.parsing.splitting import split_lines, statement_lines
from coderag.schema.chunks import ChunkMetadata, SymbolRecord
from coderag.text.token_counts import estimate_tokens, exceeds

_MOST_DOCSTRING: Final = 4000  # characters


class CodeChunks:
    """Builds the chunks of one file from what it declares.

    Args:
        file: The file.
        syntax: What its parser read: of all of it, or of one language in it.
    """

    def __init__(self, file: SourceFile, syntax: Syntax) -> None:
        self._file = file
        self._data = file.data
        self._starts = file.starts
        self._syntax = syntax
        self._least_complexity = 0 if file.grammar.data else 1
        self._max_tokens = file.strategy.most_tokens
        self._min_tokens = file.strategy.min_tokens
        self._layout = make_layout(file.data, file.starts, syntax, file.strategy)
        self._declared_at = [declaration.start for declaration in syntax.all]
        self._called_at = [start for start, _ in syntax.calls]
        self._imported_at = [start for start, _ in syntax.imports]
        self._commented_at = [start for start, _ in syntax.comments]
        self._types = {one.qualified_name: one for one in syntax.all if one.kind in CLASS_LIKE}
        self._headers: dict[int, str] = {}
        self._module = module_name(file.path)

    def build(self) -> list[ParsedChunk]:
        """Return the chunks in order."""
        return self._build(self._layout.pieces())

    def build_region(self, region: Region, *, is_whole: bool) -> list[ParsedChunk]:
        """Return the chunks of a region of the file, with the tags around it.

        Args:
            is_whole: Whether a little code above the first declaration belongs to it.
        """
        pieces = self._layout.pieces_within(region.start, region.end)
        pieces[0].start, pieces[-1].end = region.outer_start, region.outer_end
        for piece in (pieces[0], pieces[-1]):
            piece.tokens = estimate_tokens(self._data[self._starts[piece.start] : self._starts[piece.end]])
        if is_whole and len(pieces) > 1 and pieces[0].owner is None and pieces[0].tokens < self._min_tokens:
            above = pieces.pop(0)  # imports above a function
            pieces[0].start = above.start
            pieces[0].tokens += above.tokens
        return self._build(pieces)

    def add_to(self, metadata: ChunkMetadata) -> None:
        """Add what is declared, imported and called in a chunk that was made otherwise."""
        start, end = metadata["start_byte"], metadata["end_byte"]
        symbols, imports, calls = self._symbols(start, end), self._imports(start, end), self._calls(start, end)
        metadata["symbols"] = sorted([*metadata["symbols"], *symbols], key=lambda symbol: symbol["start_line"])
        metadata["imports"] = list(dict.fromkeys([*metadata["imports"], *imports]))
        metadata["calls"] = list(dict.fromkeys([*metadata["calls"], *calls]))[:MOST_CALLS]
        branches = self._syntax.branches
        if symbols or imports or calls:
            metadata["complexity"] = max(1, metadata["complexity"])
        metadata["complexity"] += bisect_left(branches, end) - bisect_left(branches, start)

    def _build(self, pieces: Sequence[Piece]) -> list[ParsedChunk]:
        chunks = []
        for piece in pieces:
            spans = self._fit(piece)
            chunks += [self._chunk(piece, start, end, is_first=index == 0 and not piece.continues)
                       for index, (start, end) in enumerate(spans)]  # fmt: skip
        return chunks

    def _fit(self, piece: Piece) -> list[tuple[int, int]]:
        """Return the spans of a piece in bytes: one, or several if it is too large."""
        start, end = self._starts[piece.start], self._starts[piece.end]
        if not exceeds(self._data[start:end], self._max_tokens, piece.tokens):
            return [(start, end)]
        cuts = statement_lines(self._syntax.root, self._starts, piece.start, piece.end, self._max_tokens)
        return split_lines(self._data, self._starts, piece.start, piece.end, cuts=cuts, max_tokens=self._max_tokens)

    def _chunk(self, piece: Piece, start: int, end: int, *, is_first: bool) -> ParsedChunk:
        content = self._data[start:end]
        owner = piece.owner
        first_branch, last_branch = start, end
        if owner is None:
            kind = "module"
            name, qualified_name = self._module
            signature = parent = context = ""
            docstring = self._docstring(self._syntax.documented, start, end)
            bases: list[str] = []
        else:
            kind, name, qualified_name, parent = owner.kind, owner.name, owner.qualified_name, owner.scope
            signature, bases = self._signature(owner), list(dict.fromkeys(owner.bases))
            docstring = self._documentation(owner, piece) if is_first else ""
            enclosing = owner.parent or self._types.get(owner.scope)
            context = self._signature(enclosing) if enclosing is not None and enclosing.kind in CONTAINERS else ""
            if not is_first:
                context = f"{context}\n{signature}" if context else signature
            if kind in CALLABLE and not piece.merged:
                first_branch, last_branch = owner.start, owner.end
        branches = self._syntax.branches
        own_end = min(end, self._starts[piece.end - piece.overlap])  # what lies below is told by the next piece
        return ParsedChunk(
            content.decode("utf-8", "surrogatepass"),
            {
                "path": self._file.path, "language": self._file.language, "kind": kind, "name": name,
                "qualified_name": qualified_name, "signature": signature, "docstring": docstring, "summary": "",
                "summary_source": "", "parent": parent, "context": context, "symbols": self._symbols(start, own_end),
                "imports": self._imports(start, own_end), "calls": self._calls(start, own_end), "bases": bases,
                "complexity": self._least_complexity
                + bisect_left(branches, last_branch) - bisect_left(branches, first_branch),
                "role": self._file.role, **place_of(content, self._starts, start),
            },
        )  # fmt: skip

    def _signature(self, declaration: Declaration) -> str:
        found = self._headers.get(declaration.start)
        if found is None:
            found = self._headers[declaration.start] = self._read_signature(declaration)
        return found

    def _read_signature(self, declaration: Declaration) -> str:
        """Return a declaration up to its body, with an ``export`` on its line but without decorators and comments."""
        start = declaration.start
        if b"\n" not in self._data[declaration.outer_start : start]:
            start = declaration.outer_start
        end = declaration.end if declaration.body is None else max(start, declaration.body[0])
        text = self._data[start : min(end, start + 2000)]
        if self._commented_at:
            first, last = bisect_left(self._commented_at, start), bisect_left(self._commented_at, end)
            for comment_start, comment_end in reversed(self._syntax.comments[first:last]):
                text = text[: comment_start - start] + text[comment_end - start :]
        return signature_of(text.decode("utf-8", "ignore"))

    def _documentation(self, owner: Declaration, piece: Piece) -> str:
        if owner.documented is not None:
            return self._docstring(owner.documented, self._starts[piece.start], owner.end)
        comments = self._syntax.comments
        if not comments:
            return ""
        lowest = self._starts[self._layout.lead(owner, piece.start)]
        first, last = bisect_left(self._commented_at, lowest), bisect_left(self._commented_at, owner.outer_start)
        if first >= last:
            return ""
        text = b"\n".join(self._data[start:end].rstrip(b"\n") for start, end in comments[first:last])
        return clean_comment(text.decode("utf-8", "replace"))[:_MOST_DOCSTRING]

    def _docstring(self, span: tuple[int, int] | None, start: int, end: int) -> str:
        if span is None or not start <= span[0] < end:
            return ""
        text = self._data[span[0] : span[1]].decode("utf-8", "replace")
        clean = clean_comment if span in self._syntax.comments else clean_docstring
        return clean(text)[:_MOST_DOCSTRING]

    def _symbols(self, start: int, end: int) -> list[SymbolRecord]:
        first, last = bisect_left(self._declared_at, start), bisect_left(self._declared_at, end)
        records: list[SymbolRecord] = []
        for declaration in self._syntax.all[first:last]:
            start_line = self._layout.line(declaration.start) + 1
            end_line = self._layout.line(max(declaration.start, declaration.end - 1)) + 1
            qualified = declaration.qualified_name
            for name in declaration.names:
                full = (
                    qualified
                    if name == declaration.name
                    else qualified[: len(qualified) - len(declaration.name)] + name
                )
                records.append({"name": name, "qualified_name": full, "kind": declaration.kind,
                                "start_line": start_line, "end_line": end_line})  # fmt: skip
        return records

    def _imports(self, start: int, end: int) -> list[str]:
        if not self._imported_at:
            return []
        first, last = bisect_left(self._imported_at, start), bisect_left(self._imported_at, end)
        return list(dict.fromkeys(source for _, source in self._syntax.imports[first:last]))

    def _calls(self, start: int, end: int) -> list[str]:
        first, last = bisect_left(self._called_at, start), bisect_left(self._called_at, end)
        names = dict.fromkeys([self._data[low:high] for low, high in self._syntax.calls[first:last]])
        return [name.decode("utf-8", "replace") for name in list(names)[:MOST_CALLS]]
