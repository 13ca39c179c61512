"""Conversion of public dataclasses to the plain dicts of the graph's state, and back."""

from collections.abc import Iterable, Sequence
from dataclasses import fields, is_dataclass
from operator import attrgetter
from typing import Any, Final

from coderag.schema.answers import Answer, AnswerClaim, AnswerSection, AnswerStatement, Citation
from coderag.schema.context import AssembledContext, ContextItem, ContextSection, Omission
from coderag.schema.graph import GraphNeighbour, RelationQuery
from coderag.schema.search import SearchHit

_NEIGHBOUR_FIELDS: Final = tuple(field.name for field in fields(GraphNeighbour))
_get_neighbour_values = attrgetter(*_NEIGHBOUR_FIELDS)


def to_record(value: Any) -> Any:  # noqa: ANN401  # as deep as the dataclasses go
    """Convert a dataclass recursively to a dict; unlike `dataclasses.asdict`, plain values are not copied."""
    if is_dataclass(value):
        return {field.name: to_record(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, list | tuple):
        return [to_record(element) for element in value]
    return value


def to_context(record: dict[str, Any]) -> AssembledContext:
    """Restore the context from its record."""
    sections = [
        ContextSection(**{**section, "items": [ContextItem(**item) for item in section["items"]]})
        for section in record["sections"]
    ]
    omitted = [Omission(**omission) for omission in record["omitted"]]
    return AssembledContext(**{**record, "sections": sections, "omitted": omitted})


def to_answer(record: dict[str, Any], hits: Sequence[SearchHit]) -> Answer:
    """Restore the answer from its record, with the hits that it is based on."""
    citations = [Citation(**citation) for citation in record["citations"]]
    claims = [AnswerClaim(**claim) for claim in record["claims"]]
    sections = [
        AnswerSection(
            **{**section, "statements": [AnswerStatement(**statement) for statement in section["statements"]]}
        )
        for section in record.get("sections", ())
    ]
    return Answer(**{**record, "citations": citations, "claims": claims, "sections": sections, "hits": hits})


def to_relation_records(queries: Iterable[RelationQuery]) -> list[dict[str, Any]]:
    """Convert queries to records as `to_record` does, several times faster: one may have thousands of neighbours."""
    return [
        {
            "subject": query.subject,
            "relation": query.relation,
            "direction": query.direction,
            "depth": query.depth,
            "neighbours": [
                dict(zip(_NEIGHBOUR_FIELDS, _get_neighbour_values(neighbour), strict=True))
                for neighbour in query.neighbours
            ],
            "end": query.end,
        }
        for query in queries
    ]


def to_relations(records: Iterable[dict[str, Any]]) -> list[RelationQuery]:
    """Restore the queries from their records."""
    return [
        RelationQuery(**{**record, "neighbours": [GraphNeighbour(**neighbour) for neighbour in record["neighbours"]]})
        for record in records
    ]
