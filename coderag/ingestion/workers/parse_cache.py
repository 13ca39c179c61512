"""Serialization of parsed files for the content cache: equal bytes and language are parsed once.

The format is JSON, because an index may come from elsewhere and reading it must not run code. Texts are not stored: a chunk
is a range of the file's bytes.
"""

from hashlib import sha256
from typing import Any, Final, cast

import orjson

from coderag.ingestion.parsing.parsed_file import ParsedChunk, ParsedFile
from coderag.schema.chunks import ChunkMetadata, SymbolRecord
from coderag.stores.facts_codec import PackedFacts, unpack_body, unpack_interface

NAMESPACE: Final = "parsed"
"""Namespace of parsed files in the content cache."""

_DERIVED_FIELDS = {"path", "role", "language", "summary", "summary_source", "content_hash"}
_STORED_FIELDS = tuple(name for name in ChunkMetadata.__annotations__ if name not in _DERIVED_FIELDS)
_FIELD_TYPES = tuple(
    getattr(kind, "__origin__", kind) for kind in map(ChunkMetadata.__annotations__.get, _STORED_FIELDS)
)
_TEXT_LIST_FIELDS = tuple(name for name in _STORED_FIELDS if ChunkMetadata.__annotations__[name] == list[str])
_SYMBOL_KEYS = SymbolRecord.__annotations__.keys()
_MAX_NUMBER = 2**31 - 1  # the index stores line numbers as int32


def pack(parsed: ParsedFile) -> bytes:
    """Serialize a file that was parsed without a path."""
    rows = [
        [chunk.metadata[name] for name in _STORED_FIELDS]  # type: ignore[literal-required]
        for chunk in parsed.chunks
    ]
    languages = [chunk.metadata["language"] for chunk in parsed.chunks]
    facts = parsed.facts
    chunks = orjson.dumps([parsed.language, parsed.note, languages, rows])
    return b"\n".join((chunks, facts.interface, facts.body, facts.digest.hex().encode()))  # no JSON has a line break


def unpack(packed: bytes, text: str) -> ParsedFile:
    """Deserialize a parsed file.

    Args:
        text: The file's text.

    Raises:
        ValueError: The bytes are invalid or do not belong to that text.
    """
    data = text.encode("utf-8", "surrogatepass")
    try:
        stored_chunks, interface, body, digest = packed.split(b"\n")
        language, note, languages, rows = orjson.loads(stored_chunks)
        facts = PackedFacts(interface, body, bytes.fromhex(digest.decode()))
        unpack_interface(interface)
        unpack_body(body)
        _require({type(language), type(note), *map(type, languages)} == {str})
        chunks = [_unpack_chunk(row, language, data) for row, language in zip(rows, languages, strict=True)]
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError("not a parsed file") from error
    bounds = (chunks[0].metadata["start_byte"], chunks[-1].metadata["end_byte"]) if chunks else (0, 0)
    _require(bounds == (0, len(data)))
    return ParsedFile("", language, chunks, facts, note)


def _unpack_chunk(row: list[Any], language: str, data: bytes) -> ParsedChunk:
    """Deserialize a chunk from its row and the bytes of its file."""
    _require(tuple(map(type, row)) == _FIELD_TYPES)
    stored: dict[str, Any] = dict(zip(_STORED_FIELDS, row, strict=True))
    start, end = stored["start_byte"], stored["end_byte"]
    _require(0 <= start <= end <= len(data))
    _check_lines(stored)
    _require(0 <= stored["complexity"] <= _MAX_NUMBER)
    for name in _TEXT_LIST_FIELDS:
        _require(all(type(value) is str for value in stored[name]))
    for symbol in stored["symbols"]:
        _require(symbol.keys() == _SYMBOL_KEYS)
        _check_lines(symbol)
        _require(all(type(symbol[name]) is str for name in ("name", "qualified_name", "kind")))
    content = data[start:end]
    derived = {"path": "", "role": "", "language": language, "summary": "", "summary_source": ""}
    metadata = {**stored, **derived, "content_hash": sha256(content).hexdigest()}
    return ParsedChunk(content.decode("utf-8", "surrogatepass"), cast("ChunkMetadata", metadata))


def _check_lines(record: dict[str, Any]) -> None:
    start, end = record["start_line"], record["end_line"]
    _require(type(start) is type(end) is int and 1 <= start <= end <= _MAX_NUMBER)


def _require(condition: bool) -> None:
    if not condition:
        raise ValueError("not a parsed file, or not of this text")
