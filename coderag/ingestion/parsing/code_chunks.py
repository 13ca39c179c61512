"""Chunks of a parsed file with their symbols, imports and calls; `declaration_layout` chooses their boundaries."""

from bisect import bisect_left
from collections.abc import Sequence
from typing import Final

from coderag.ingestion.parsing.declaration_layout import LineSpan
from coderag.ingestion.parsing.declaration_records import CALLABLE, CLASS_LIKE, CONTAINERS, Declaration
from coderag.ingestion.parsing.declarations import Syntax
from coderag.ingestion.parsing.doc_comments import clean_comment, clean_docstring, format_signature
from coderag.ingestion.parsing.line_layout import make_layout
from coderag.ingestion.parsing.parsed_file import ParsedChunk, SourceFile, derive_module_name, locate_content
from coderag.ingestion.parsing.regions import Region
from coderag.ingestion.parsing.spans import MAX_CALLS
from coderag.ingestion.parsing.splitting import find_statement_lines, split_lines
from coderag.schema.chunks import ChunkMetadata, SymbolRecord
from coderag.text.token_counts import estimate_tokens, is_over_limit

_MAX_DOCSTRING_CHARS: Final = 4000  # characters


class CodeChunkBuilder:
    """Builds the chunks of one file from its declarations.

    Args:
        file: The file.
        syntax: Syntax of the whole file, or of one language in it.
    """

    def __init__(self, file: SourceFile, syntax: Syntax) -> None:
        self._file = file
        self._data = file.data
        self._starts = file.starts
        self._syntax = syntax
        self._base_complexity = 0 if file.grammar.data else 1
        self._max_tokens = file.strategy.max_chunk_tokens
        self._min_tokens = file.strategy.min_tokens
        self._layout = make_layout(file.data, file.starts, syntax, file.strategy)
        self._declaration_starts = [declaration.start for declaration in syntax.declarations]
        self._call_starts = [start for start, _ in syntax.calls]
        self._import_starts = [start for start, _ in syntax.imports]
        self._comment_starts = [start for start, _ in syntax.comments]
        self._types_by_name = {
            type_declaration.qualified_name: type_declaration
            for type_declaration in syntax.declarations
            if type_declaration.kind in CLASS_LIKE
        }
        self._signatures: dict[int, str] = {}
        self._module_name = derive_module_name(file.path)

    def build(self) -> list[ParsedChunk]:
        """Return the chunks in order."""
        return self._build_chunks(self._layout.build_spans())

    def build_region(self, region: Region, *, merges_preamble: bool) -> list[ParsedChunk]:
        """Build the chunks of a region of the file, with the tags around it.

        Args:
            merges_preamble: Whether a short preamble joins the first declaration.
        """
        spans = self._layout.build_spans_within(region.start, region.end)
        spans[0].start, spans[-1].end = region.outer_start, region.outer_end
        for span in (spans[0], spans[-1]):
            span.tokens = estimate_tokens(self._data[self._starts[span.start] : self._starts[span.end]])
        if merges_preamble and len(spans) > 1 and spans[0].owner is None and spans[0].tokens < self._min_tokens:
            preamble = spans.pop(0)  # such as imports above a function
            spans[0].start = preamble.start
            spans[0].tokens += preamble.tokens
        return self._build_chunks(spans)

    def annotate_metadata(self, metadata: ChunkMetadata) -> None:
        """Add the symbols, imports and calls within a chunk to its metadata."""
        start, end = metadata["start_byte"], metadata["end_byte"]
        symbols, imports, calls = (
            self._list_symbols(start, end),
            self._list_imports(start, end),
            self._list_calls(start, end),
        )
        metadata["symbols"] = sorted([*metadata["symbols"], *symbols], key=lambda symbol: symbol["start_line"])
        metadata["imports"] = list(dict.fromkeys([*metadata["imports"], *imports]))
        metadata["calls"] = list(dict.fromkeys([*metadata["calls"], *calls]))[:MAX_CALLS]
        branches = self._syntax.branches
        if symbols or imports or calls:
            metadata["complexity"] = max(1, metadata["complexity"])
        metadata["complexity"] += bisect_left(branches, end) - bisect_left(branches, start)

    def _build_chunks(self, spans: Sequence[LineSpan]) -> list[ParsedChunk]:
        chunks = []
        for span in spans:
            bounds = self._split_to_fit(span)
            chunks += [self._build_chunk(span, start, end, is_first=index == 0 and not span.is_continuation)
                       for index, (start, end) in enumerate(bounds)]  # fmt: skip
        return chunks

    def _split_to_fit(self, span: LineSpan) -> list[tuple[int, int]]:
        """Return the byte ranges of a span: one, or several if it is too large."""
        start, end = self._starts[span.start], self._starts[span.end]
        if not is_over_limit(self._data[start:end], self._max_tokens, span.tokens):
            return [(start, end)]
        cuts = find_statement_lines(self._syntax.root, self._starts, span.start, span.end, self._max_tokens)
        return split_lines(self._data, self._starts, span.start, span.end, cuts=cuts, max_tokens=self._max_tokens)

    def _build_chunk(self, span: LineSpan, start: int, end: int, *, is_first: bool) -> ParsedChunk:
        content = self._data[start:end]
        owner = span.owner
        first_branch, last_branch = start, end
        if owner is None:
            kind = "module"
            name, qualified_name = self._module_name
            signature = parent = context = ""
            docstring = self._read_docstring(self._syntax.docstring_span, start, end)
            bases: list[str] = []
        else:
            kind, name, qualified_name, parent = owner.kind, owner.name, owner.qualified_name, owner.scope
            signature, bases = self._get_signature(owner), list(dict.fromkeys(owner.bases))
            docstring = self._read_documentation(owner, span) if is_first else ""
            enclosing = owner.parent or self._types_by_name.get(owner.scope)
            context = self._get_signature(enclosing) if enclosing is not None and enclosing.kind in CONTAINERS else ""
            if not is_first:
                context = f"{context}\n{signature}" if context else signature
            if kind in CALLABLE and not span.is_merged:
                first_branch, last_branch = owner.start, owner.end
        branches = self._syntax.branches
        own_end = min(end, self._starts[span.end - span.overlap])  # facts of the overlap belong to the next span
        return ParsedChunk(
            content.decode("utf-8", "surrogatepass"),
            {
                "path": self._file.path, "language": self._file.language, "kind": kind, "name": name,
                "qualified_name": qualified_name, "signature": signature, "docstring": docstring, "summary": "",
                "summary_source": "", "parent": parent, "context": context, "symbols": self._list_symbols(start, own_end),
                "imports": self._list_imports(start, own_end), "calls": self._list_calls(start, own_end), "bases": bases,
                "complexity": self._base_complexity
                + bisect_left(branches, last_branch) - bisect_left(branches, first_branch),
                "role": self._file.role, **locate_content(content, self._starts, start),
            },
        )  # fmt: skip

    def _get_signature(self, declaration: Declaration) -> str:
        signature = self._signatures.get(declaration.start)
        if signature is None:
            signature = self._signatures[declaration.start] = self._read_signature(declaration)
        return signature

    def _read_signature(self, declaration: Declaration) -> str:
        """Return a declaration up to its body, with ``export`` on its line but without decorators and comments."""
        start = declaration.start
        if b"\n" not in self._data[declaration.outer_start : start]:
            start = declaration.outer_start
        end = declaration.end if declaration.body is None else max(start, declaration.body[0])
        text = self._data[start : min(end, start + 2000)]
        if self._comment_starts:
            first, last = bisect_left(self._comment_starts, start), bisect_left(self._comment_starts, end)
            for comment_start, comment_end in reversed(self._syntax.comments[first:last]):
                text = text[: comment_start - start] + text[comment_end - start :]
        return format_signature(text.decode("utf-8", "ignore"))

    def _read_documentation(self, owner: Declaration, span: LineSpan) -> str:
        if owner.docstring_span is not None:
            return self._read_docstring(owner.docstring_span, self._starts[span.start], owner.end)
        comments = self._syntax.comments
        if not comments:
            return ""
        lowest = self._starts[self._layout.find_leading_line(owner, span.start)]
        first, last = bisect_left(self._comment_starts, lowest), bisect_left(self._comment_starts, owner.outer_start)
        if first >= last:
            return ""
        text = b"\n".join(self._data[start:end].rstrip(b"\n") for start, end in comments[first:last])
        return clean_comment(text.decode("utf-8", "replace"))[:_MAX_DOCSTRING_CHARS]

    def _read_docstring(self, span: tuple[int, int] | None, start: int, end: int) -> str:
        if span is None or not start <= span[0] < end:
            return ""
        text = self._data[span[0] : span[1]].decode("utf-8", "replace")
        clean = clean_comment if span in self._syntax.comments else clean_docstring
        return clean(text)[:_MAX_DOCSTRING_CHARS]

    def _list_symbols(self, start: int, end: int) -> list[SymbolRecord]:
        first, last = bisect_left(self._declaration_starts, start), bisect_left(self._declaration_starts, end)
        records: list[SymbolRecord] = []
        for declaration in self._syntax.declarations[first:last]:
            start_line = self._layout.find_line(declaration.start) + 1
            end_line = self._layout.find_line(max(declaration.start, declaration.end - 1)) + 1
            qualified_name = declaration.qualified_name
            for name in declaration.names:
                full_name = (
                    qualified_name
                    if name == declaration.name
                    else qualified_name[: len(qualified_name) - len(declaration.name)] + name
                )
                records.append({"name": name, "qualified_name": full_name, "kind": declaration.kind,
                                "start_line": start_line, "end_line": end_line})  # fmt: skip
            further_names = [*declaration.aliases, *([declaration.inner_name] if declaration.has_inner_name else [])]
            records += [
                {"name": name, "qualified_name": qualified_name, "kind": declaration.kind,
                 "start_line": start_line, "end_line": end_line}
                for name in further_names
            ]  # fmt: skip
        return records

    def _list_imports(self, start: int, end: int) -> list[str]:
        if not self._import_starts:
            return []
        first, last = bisect_left(self._import_starts, start), bisect_left(self._import_starts, end)
        return list(dict.fromkeys(source for _, source in self._syntax.imports[first:last]))

    def _list_calls(self, start: int, end: int) -> list[str]:
        first, last = bisect_left(self._call_starts, start), bisect_left(self._call_starts, end)
        names = dict.fromkeys([self._data[low:high] for low, high in self._syntax.calls[first:last]])
        return [name.decode("utf-8", "replace") for name in list(names)[:MAX_CALLS]]
