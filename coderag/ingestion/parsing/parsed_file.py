"""A file as chunks before they become LlamaIndex nodes: content, ids and locations."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import PurePosixPath
from typing import TypedDict

from coderag.ingestion.parsing.languages import Language
from coderag.ingestion.parsing.spans import Span
from coderag.ingestion.parsing.strategies import Strategy
from coderag.schema.chunks import ChunkMetadata, get_module_name
from coderag.stores.facts_codec import PackedFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """A file to be split, with its settings.

    Attributes:
        path: Relative to the repository's root, with ``/``.
        language: Name of the language, as requested.
        grammar: The language that it is parsed as; plain text if `language` is not supported.
        data: Text in UTF-8.
        starts: Byte offset of each line, and the length of the text.
        timeout_s: See `trees.parse`.
    """

    path: str
    role: str
    language: str
    grammar: Language
    text: str
    data: bytes
    starts: Sequence[int]
    strategy: Strategy
    timeout_s: float | None


@dataclass(frozen=True, slots=True)
class ParsedChunk:
    """A chunk and its metadata, before it becomes a LlamaIndex node."""

    text: str
    metadata: ChunkMetadata


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """A file as chunks, in order.

    Attributes:
        facts: Serialized facts for the code graph.
        note: Problem of the file, such as a syntax error; empty if there is none.
    """

    path: str
    language: str
    chunks: Sequence[ParsedChunk]
    facts: PackedFacts
    note: str = ""


def compute_chunk_id(repository: str, metadata: ChunkMetadata, *, first_byte_of_line: int | None = None) -> str:
    """Compute the id of a chunk: a SHA-256 of repository, path, qualified name, start line and content.

    Args:
        first_byte_of_line: Offset of the chunk's first line, if the chunk begins inside that line.
    """
    place = str(metadata["start_line"])
    if first_byte_of_line is not None:
        place += f"+{metadata['start_byte'] - first_byte_of_line}"
    parts = (repository, metadata["path"], metadata["qualified_name"], place, metadata["content_hash"])
    return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def compute_chunk_ids(repository: str, parsed: ParsedFile) -> list[str]:
    """Compute the id of each chunk of a file."""
    ids = []
    line_start, open_line = 0, 0  # the line that the last chunk did not end
    for chunk in parsed.chunks:
        is_inside_line = chunk.metadata["start_line"] == open_line
        if not is_inside_line:
            line_start = chunk.metadata["start_byte"]
        first_byte_of_line = line_start if is_inside_line else None
        ids.append(compute_chunk_id(repository, chunk.metadata, first_byte_of_line=first_byte_of_line))
        open_line = 0 if chunk.text.endswith("\n") else chunk.metadata["end_line"]
    return ids


def place_file(parsed: ParsedFile, path: str, role: str) -> ParsedFile:
    """Set the path and role of a file that `parse_file` parsed without them; changes its chunks."""
    name, qualified_name = derive_module_name(path)
    for chunk in parsed.chunks:
        metadata = chunk.metadata
        metadata["path"], metadata["role"] = path, role
        if not metadata["qualified_name"]:
            metadata["name"], metadata["qualified_name"] = name, qualified_name
    return replace(parsed, path=path)


def derive_module_name(path: str) -> tuple[str, str]:
    """Return the name and the qualified name of a file's module code: ``sessions`` and ``requests/sessions``.

    Nothing else of a chunk may depend on the path, so that a parsed file can be reused for every file with the same content.
    """
    return PurePosixPath(path).stem, get_module_name(path)


class _ContentLocation(TypedDict):
    start_line: int
    end_line: int
    start_byte: int
    end_byte: int
    content_hash: str


def locate_content(content: bytes, starts: Sequence[int], start: int) -> _ContentLocation:
    """Return the location metadata of content that begins at a byte of the file."""
    end = start + len(content)
    last = len(starts) - 1
    return {
        "start_line": bisect_right(starts, start, 0, last),
        "end_line": max(1, bisect_right(starts, max(start, end - 1), 0, last)),
        "start_byte": start,
        "end_byte": end,
        "content_hash": sha256(content).hexdigest(),
    }


def build_chunk(file: SourceFile, span: Span) -> ParsedChunk:
    """Build the chunk of a span."""
    name, qualified_name = (span.name, span.qualified_name) if span.name else derive_module_name(file.path)
    content = file.data[span.start : span.end]
    return ParsedChunk(
        content.decode("utf-8", "surrogatepass"),
        {
            "path": file.path, "language": file.language, "kind": span.kind, "name": name, "qualified_name": qualified_name,
            "signature": span.signature, "docstring": "", "summary": "", "summary_source": "", "parent": span.parent,
            "context": span.context, "symbols": span.symbols, "imports": span.imports, "calls": span.calls, "bases": [],
            "complexity": span.complexity, "role": file.role, **locate_content(content, file.starts, span.start),
        },
    )  # fmt: skip


def extend_chunk(chunk: ParsedChunk, file: SourceFile, start: int, end: int) -> ParsedChunk:
    """Extend a chunk to include the blank lines around it."""
    if (start, end) == (chunk.metadata["start_byte"], chunk.metadata["end_byte"]):
        return chunk
    content = file.data[start:end]
    metadata: ChunkMetadata = {**chunk.metadata, **locate_content(content, file.starts, start)}
    return ParsedChunk(content.decode("utf-8", "surrogatepass"), metadata)
