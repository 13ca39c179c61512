"""Parsers of service replies into dataclasses. Imports nothing slow."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import PurePosixPath
from typing import Any, TypeVar

from coderag.schema.answers import Answer
from coderag.schema.context import AssembledContext
from coderag.schema.graph import GraphCycle, GraphNeighbour, Hotspot, OutlineEntry
from coderag.schema.indexing import IndexProgress, IndexReport, IndexStatus
from coderag.schema.mentions import Mentions, NameMention, UnusedDeclaration, UnusedReport
from coderag.schema.records import to_answer, to_context
from coderag.schema.search import SearchHit, SearchHits
from coderag.schema.text_matches import TextMatch, TextMatches

Record = Mapping[str, Any]

_Parsed = TypeVar("_Parsed")


def _list_field_names(record_type: Any) -> frozenset[str]:  # noqa: ANN401  # a dataclass
    return frozenset(field.name for field in fields(record_type))


def from_record(record_type: type[_Parsed], record: Record, **converted: object) -> _Parsed:
    """Build a dataclass from a record; unknown fields are dropped.

    Args:
        record_type: The dataclass.
        record: Its fields as decoded JSON.
        converted: Fields that JSON represents differently.
    """
    field_names = _list_field_names(record_type)
    return record_type(**{**{name: value for name, value in record.items() if name in field_names}, **converted})


def parse_hit(record: Record) -> SearchHit:
    """Parse a search hit."""
    return from_record(SearchHit, record, path=PurePosixPath(record["path"]))


def parse_hits(record: Record) -> SearchHits:
    """Parse the results of a search with the verdict."""
    hits = map(parse_hit, record["hits"])
    return SearchHits(
        hits,
        evidence=record["evidence"],
        confidence=record["confidence"],
        not_indexed=record["not_indexed"],
        notes=record.get("notes", []),
    )


def parse_context(record: Record) -> AssembledContext:
    """Parse a context."""
    field_names = _list_field_names(AssembledContext)
    return to_context({name: value for name, value in record.items() if name in field_names})


def parse_answer(record: Record) -> Answer:
    """Parse an answer."""
    field_names = _list_field_names(Answer)
    values = {name: value for name, value in record.items() if name in field_names}
    return to_answer(values, [parse_hit(hit) for hit in record["hits"]])


def parse_matches(record: Record) -> TextMatches:
    """Parse the matches of a text search."""
    matches = [from_record(TextMatch, match, path=PurePosixPath(match["path"])) for match in record["matches"]]
    return from_record(TextMatches, record, matches=matches, unread=_to_pairs(record["unread"]))


def parse_status(record: Record) -> IndexStatus:
    """Parse an index status."""
    return from_record(IndexStatus, record, failed=_to_pairs(record["failed"]), notes=_to_pairs(record["notes"]))


def parse_report(record: Record) -> IndexReport:
    """Parse the report of an indexing run."""
    return from_record(IndexReport, record, failed=_to_pairs(record["failed"]))


def parse_progress(record: Record) -> IndexProgress:
    """Parse the progress of an indexing run."""
    return from_record(IndexProgress, record)


def parse_neighbours(records: Sequence[Record]) -> list[GraphNeighbour]:
    """Parse neighbours in the code graph."""
    return [from_record(GraphNeighbour, record) for record in records]


def parse_cycles(records: Sequence[Record]) -> list[GraphCycle]:
    """Parse cycles."""
    return [from_record(GraphCycle, record, steps=parse_neighbours(record["steps"])) for record in records]


def parse_hotspots(records: Sequence[Record]) -> list[Hotspot]:
    """Parse hotspots."""
    return [from_record(Hotspot, record) for record in records]


def parse_outline(records: Sequence[Record]) -> list[OutlineEntry]:
    """Parse the nested declarations of a file."""
    return [from_record(OutlineEntry, record, children=parse_outline(record["children"])) for record in records]


def parse_mentions(record: Record) -> Mentions:
    """Parse the lines that mention a name."""
    return from_record(Mentions, record, lines=[from_record(NameMention, line) for line in record["lines"]])


def parse_unused(record: Record) -> UnusedReport:
    """Parse declarations without a known use."""
    return from_record(
        UnusedReport, record, results=[from_record(UnusedDeclaration, result) for result in record["results"]]
    )


def _to_pairs(rows: Sequence[Sequence[str]]) -> list[tuple[str, str]]:
    return [(row[0], row[1]) for row in rows]
