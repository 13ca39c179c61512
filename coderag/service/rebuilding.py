"""What the service sends, as the dataclasses that it was. Imports nothing slow."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import PurePosixPath
from typing import Any, TypeVar

from coderag.retrieval.text_search.text_matches import TextMatch, TextMatches
from coderag.schema.answers import Answer
from coderag.schema.context import AssembledContext
from coderag.schema.graph import GraphCycle, GraphNeighbour, Hotspot, OutlineEntry
from coderag.schema.indexing import IndexProgress, IndexReport, IndexStatus
from coderag.schema.records import to_answer, to_context
from coderag.schema.search import SearchHit, SearchHits

Record = Mapping[str, Any]

_Made = TypeVar("_Made")


def _names(kind: Any) -> frozenset[str]:  # noqa: ANN401  # a dataclass
    return frozenset(field.name for field in fields(kind))


def rebuilt(kind: type[_Made], record: Record, **changes: object) -> _Made:
    """Return a dataclass from its fields; what it has no field for is left out.

    Args:
        kind: The class.
        record: Its fields, as JSON has them.
        changes: Those that JSON has in another form.
    """
    known = _names(kind)
    return kind(**{**{name: value for name, value in record.items() if name in known}, **changes})


def hit_of(record: Record) -> SearchHit:
    """Return one result."""
    return rebuilt(SearchHit, record, path=PurePosixPath(record["path"]))


def hits_of(record: Record) -> SearchHits:
    """Return the results of a search, with the verdict."""
    hits = map(hit_of, record["hits"])
    return SearchHits(
        hits, evidence=record["evidence"], confidence=record["confidence"], not_indexed=record["not_indexed"]
    )


def context_of(record: Record) -> AssembledContext:
    """Return a context."""
    known = _names(AssembledContext)
    return to_context({name: value for name, value in record.items() if name in known})


def answer_of(record: Record) -> Answer:
    """Return an answer."""
    known = _names(Answer)
    plain = {name: value for name, value in record.items() if name in known}
    return to_answer(plain, [hit_of(hit) for hit in record["hits"]])


def matches_of(record: Record) -> TextMatches:
    """Return the places where a text stands."""
    matches = [rebuilt(TextMatch, match, path=PurePosixPath(match["path"])) for match in record["matches"]]
    return rebuilt(TextMatches, record, matches=matches, unread=_pairs(record["unread"]))


def status_of(record: Record) -> IndexStatus:
    """Return how the index stands."""
    return rebuilt(IndexStatus, record, failed=_pairs(record["failed"]), notes=_pairs(record["notes"]))


def report_of(record: Record) -> IndexReport:
    """Return what a run of indexing did."""
    return rebuilt(IndexReport, record, failed=_pairs(record["failed"]))


def progress_of(record: Record) -> IndexProgress:
    """Return how far a run of indexing is."""
    return rebuilt(IndexProgress, record)


def neighbours_of(records: Sequence[Record]) -> list[GraphNeighbour]:
    """Return what the code graph answers about a declaration."""
    return [rebuilt(GraphNeighbour, record) for record in records]


def cycles_of(records: Sequence[Record]) -> list[GraphCycle]:
    """Return what needs one another in circles."""
    return [rebuilt(GraphCycle, record, steps=neighbours_of(record["steps"])) for record in records]


def hotspots_of(records: Sequence[Record]) -> list[Hotspot]:
    """Return what much depends on."""
    return [rebuilt(Hotspot, record) for record in records]


def outline_of(records: Sequence[Record]) -> list[OutlineEntry]:
    """Return the declarations of a file, nested."""
    return [rebuilt(OutlineEntry, record, children=outline_of(record["children"])) for record in records]


def _pairs(rows: Sequence[Sequence[str]]) -> list[tuple[str, str]]:
    return [(row[0], row[1]) for row in rows]
