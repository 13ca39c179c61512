"""Files as chunks: whole lines, in order, without overlap and without gap; their texts joined are the file's text.

Only windows overlap (`strategies`); the symbols, calls and imports of lines in two of them are the second's.

`parse_file` is all of it, and needs no LlamaIndex. Limits are in tokens of llama-index-core's encoding: ``max_tokens``
holds exactly wherever the estimate is within `token_counts.TOLERANCE` of it, ``min_tokens`` decides by the estimate
alone. Only a line that exceeds ``max_tokens`` by itself is cut inside.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Final, TypedDict

from coderag.collector import collector_paused
from coderag.facts import FileFacts
from coderag.ingestion.parsing.blocks import lay_out_blocks
from coderag.ingestion.parsing.declarations import CALLABLE, CLASS_LIKE, CONTAINERS, Declaration, Syntax, read_syntax
from coderag.ingestion.parsing.doc_comments import clean_comment, clean_docstring, signature_of
from coderag.ingestion.parsing.embedded import lay_out_embedded
from coderag.ingestion.parsing.facts import read_embedded_facts, read_facts
from coderag.ingestion.parsing.languages import LANGUAGES, TEXT, Language
from coderag.ingestion.parsing.layout import Piece
from coderag.ingestion.parsing.line_layout import make_layout
from coderag.ingestion.parsing.regions import Region
from coderag.ingestion.parsing.sections import DOCUMENTS, lay_out_sections
from coderag.ingestion.parsing.spans import MOST_CALLS, Span
from coderag.ingestion.parsing.splitting import split_lines, statement_lines
from coderag.ingestion.parsing.strategies import WINDOW_OVERLAP_TOKENS, WINDOW_TOKENS, Strategy
from coderag.ingestion.parsing.text_facts import read_text_facts
from coderag.ingestion.parsing.trees import SyntaxUnusableError, line_starts
from coderag.schema import ChunkMetadata, ChunkStrategy, SymbolRecord, module_of
from coderag.stores.facts_bytes import PackedFacts, pack_facts
from coderag.token_counts import estimate_tokens, exceeds

MAX_TOKENS: Final = 800
MIN_TOKENS: Final = 100
PARSE_TIMEOUT_S: Final = 3.0

_MOST_DOCSTRING = 4000  # characters
_LARGEST_TREE_OF_DATA = 100_000  # bytes; structured data beyond that is records, not configuration


@dataclass(frozen=True, slots=True)
class ParsedChunk:
    """A chunk and its metadata, before it becomes a LlamaIndex node."""

    text: str
    metadata: ChunkMetadata


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """A file as chunks, in order.

    Attributes:
        facts: What the code graph is made of, as bytes.
        note: What is wrong with the file, such as a syntax error; empty if nothing is.
    """

    path: str
    language: str
    chunks: Sequence[ParsedChunk]
    facts: PackedFacts
    note: str = ""


def chunk_id(repository: str, metadata: ChunkMetadata, *, first_byte_of_line: int | None = None) -> str:
    """Return the id of a chunk: a SHA-256 of repository, path, qualified name, start line and content.

    Args:
        first_byte_of_line: Where the chunk's first line begins, if the chunk begins inside it.
    """
    place = str(metadata["start_line"])
    if first_byte_of_line is not None:
        place += f"+{metadata['start_byte'] - first_byte_of_line}"
    parts = (repository, metadata["path"], metadata["qualified_name"], place, metadata["content_hash"])
    return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def chunk_ids(repository: str, parsed: ParsedFile) -> list[str]:
    """Return the id of each chunk of a file."""
    ids = []
    line_start, ends_line = 0, True
    for chunk in parsed.chunks:
        start = chunk.metadata["start_byte"]
        if ends_line:
            line_start = start
        ids.append(chunk_id(repository, chunk.metadata, first_byte_of_line=None if ends_line else line_start))
        ends_line = chunk.text.endswith("\n")
    return ids


def parse_file(  # noqa: PLR0913  # the settings of chunks, one an argument
    path: str,
    text: str,
    language: str,
    role: str,
    *,
    max_tokens: int = MAX_TOKENS,
    min_tokens: int = MIN_TOKENS,
    timeout_s: float | None = PARSE_TIMEOUT_S,
    trouble: str = "",
    strategy: ChunkStrategy = "declaration",
    window_tokens: int = WINDOW_TOKENS,
    window_overlap_tokens: int = WINDOW_OVERLAP_TOKENS,
) -> ParsedFile:
    """Cut a file into chunks. No file makes it fail: what cannot be parsed is cut by lines, and the result's note says so.

    Args:
        path: Relative to the repository's root, with ``/``.
        language: One of `languages.LANGUAGES`; any other name is treated as plain text.
        max_tokens, min_tokens: Of a chunk, except of a window.
        timeout_s: CPU time for each million bytes, or None in a process that may be killed (see `trees.parse`); a
            file that takes longer is cut by lines.
        trouble: Why its syntax tree must not be asked for, such as a parser that crashed on it; becomes its note.
        strategy: Where it is cut, see ``docs/chunking.md``.
        window_tokens, window_overlap_tokens: Of ``window`` alone.

    Raises:
        ValueError: The overlap of windows is not smaller than a window.
    """
    with collector_paused():
        limits = Strategy(strategy, max_tokens, min_tokens, window_tokens, window_overlap_tokens)
        return _parse_file(path, text, language, role, limits, timeout_s, trouble)


def place_file(parsed: ParsedFile, path: str, role: str) -> ParsedFile:
    """Return what `parse_file` made of a file without a path and role as it would have been with them; changes it."""
    name, qualified_name = module_name(path)
    for chunk in parsed.chunks:
        metadata = chunk.metadata
        metadata["path"], metadata["role"] = path, role
        if not metadata["qualified_name"]:
            metadata["name"], metadata["qualified_name"] = name, qualified_name
    return replace(parsed, path=path)


def _parse_file(
    path: str,
    text: str,
    language: str,
    role: str,
    strategy: Strategy,
    timeout_s: float | None,
    trouble: str,
) -> ParsedFile:
    data = text.encode("utf-8", "surrogatepass")
    starts = line_starts(data)
    known = LANGUAGES.get(language) or LANGUAGES[TEXT]
    note = f"{trouble}; cut by lines" if trouble else ""
    if (known.scripts or known.cells) and not note and strategy.name == "declaration":
        chunks, facts, note = _embedded_chunks(path, data, starts, known, role, strategy, timeout_s)
        if chunks:
            return ParsedFile(path, language, chunks, pack_facts(facts), note)
    if known.query and not note and not (known.data and len(data) > _LARGEST_TREE_OF_DATA):
        try:
            syntax = read_syntax(data, known, timeout_s=timeout_s)
        except SyntaxUnusableError as error:
            note = f"{error}; cut by lines"
        else:
            builder = _CodeChunks(path, data, starts, syntax, known, role, strategy)
            facts = read_facts(syntax, data, known)
            if known.data:
                facts = replace(facts, settings=read_text_facts(text, language).settings)
            chunks = builder.build()
            syntax.let_go()
            return ParsedFile(path, language, chunks, pack_facts(facts), syntax.note)
    if language in DOCUMENTS and strategy.name != "window" and not trouble:
        spans = lay_out_sections(data, starts, language, max_tokens=strategy.max_tokens, min_tokens=strategy.min_tokens)
    else:
        spans, problem = lay_out_blocks(data, starts, known, strategy, timeout_s=timeout_s, use_tree=not note)
        note = note or problem
    chunks = [_chunk_of_span(path, data, starts, language, role, span) for span in spans]
    # What was trouble is not looked at in any other way that could be.
    facts = FileFacts(language) if trouble else read_text_facts(text, language)
    return ParsedFile(path, language, chunks, pack_facts(facts), note)


def _embedded_chunks(
    path: str,
    data: bytes,
    starts: Sequence[int],
    known: Language,
    role: str,
    strategy: Strategy,
    timeout_s: float | None,
) -> tuple[list[ParsedChunk], FileFacts, str]:
    """Return the chunks of a file in which other languages stand, the facts of its code, and what is wrong with it."""
    limits = {"max_tokens": strategy.max_tokens, "min_tokens": strategy.min_tokens}
    layout = lay_out_embedded(data, starts, known, **limits, timeout_s=timeout_s)
    builders = {
        name: _CodeChunks(path, data, starts, syntax, known, role, strategy) for name, syntax in layout.syntaxes.items()
    }
    chunks: list[ParsedChunk] = []
    for part in layout.parts:
        if isinstance(part, Region):
            chunks += builders[part.language.name if part.language else ""].build_region(
                part, is_whole=bool(known.cells)
            )
        else:
            chunk = _chunk_of_span(path, data, starts, known.name, role, part)
            for builder in builders.values():
                builder.add_to(chunk.metadata)
            chunks.append(chunk)
    bounds = [0, *(chunk.metadata["start_byte"] for chunk in chunks[1:]), len(data)]
    chunks = [_stretched(chunk, data, starts, *span) for chunk, span in zip(chunks, pairwise(bounds), strict=False)]
    facts = read_embedded_facts(layout.syntaxes, data, known.name)
    for syntax in layout.syntaxes.values():
        syntax.let_go()
    return chunks, facts, layout.note


def _stretched(chunk: ParsedChunk, data: bytes, starts: Sequence[int], start: int, end: int) -> ParsedChunk:
    """Return a chunk with the empty lines around it."""
    if (start, end) == (chunk.metadata["start_byte"], chunk.metadata["end_byte"]):
        return chunk
    content = data[start:end]
    metadata: ChunkMetadata = {**chunk.metadata, **_place(content, starts, start)}
    return ParsedChunk(content.decode("utf-8", "surrogatepass"), metadata)


class _Place(TypedDict):
    start_line: int
    end_line: int
    start_byte: int
    end_byte: int
    content_hash: str


def _place(content: bytes, starts: Sequence[int], start: int) -> _Place:
    """Return what of a chunk's metadata says where it lies, of the content that begins at a byte of the file."""
    end = start + len(content)
    last = len(starts) - 1
    return {
        "start_line": bisect_right(starts, start, 0, last),
        "end_line": max(1, bisect_right(starts, max(start, end - 1), 0, last)),
        "start_byte": start,
        "end_byte": end,
        "content_hash": sha256(content).hexdigest(),
    }


def module_name(path: str) -> tuple[str, str]:
    """Return the name and the qualified name of a file's own code: ``sessions`` and ``requests/sessions``.

    Nothing else of a chunk may depend on the path, so that what was parsed once serves every file of equal content.
    """
    return PurePosixPath(path).stem, module_of(path)


def _chunk_of_span(path: str, data: bytes, starts: Sequence[int], language: str, role: str, span: Span) -> ParsedChunk:
    name, qualified_name = (span.name, span.qualified_name) if span.name else module_name(path)
    content = data[span.start : span.end]
    return ParsedChunk(
        content.decode("utf-8", "surrogatepass"),
        {
            "path": path, "language": language, "kind": span.kind, "name": name, "qualified_name": qualified_name,
            "signature": span.signature, "docstring": "", "summary": "", "summary_source": "", "parent": span.parent,
            "context": span.context, "symbols": span.symbols, "imports": span.imports, "calls": span.calls, "bases": [],
            "complexity": span.complexity, "role": role, **_place(content, starts, span.start),
        },
    )  # fmt: skip


class _CodeChunks:
    """Builds the chunks of one file from what it declares."""

    def __init__(
        self,
        path: str,
        data: bytes,
        starts: Sequence[int],
        syntax: Syntax,
        language: Language,
        role: str,
        strategy: Strategy,
    ) -> None:
        self._path = path
        self._data = data
        self._syntax = syntax
        self._language = language.name
        self._least_complexity = 0 if language.data else 1
        self._role = role
        self._max_tokens = strategy.most_tokens
        self._min_tokens = strategy.min_tokens
        self._starts = starts
        self._layout = make_layout(data, starts, syntax, strategy)
        self._declared_at = [declaration.start for declaration in syntax.all]
        self._called_at = [start for start, _ in syntax.calls]
        self._imported_at = [start for start, _ in syntax.imports]
        self._commented_at = [start for start, _ in syntax.comments]
        self._types = {one.qualified_name: one for one in syntax.all if one.kind in CLASS_LIKE}
        self._headers: dict[int, str] = {}
        self._module = module_name(path)

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
                "path": self._path, "language": self._language, "kind": kind, "name": name,
                "qualified_name": qualified_name, "signature": signature, "docstring": docstring, "summary": "",
                "summary_source": "", "parent": parent, "context": context, "symbols": self._symbols(start, own_end),
                "imports": self._imports(start, own_end), "calls": self._calls(start, own_end), "bases": bases,
                "complexity": self._least_complexity
                + bisect_left(branches, last_branch) - bisect_left(branches, first_branch),
                "role": self._role, **_place(content, self._starts, start),
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
