"""Build the public dataclasses from the plain dicts that the graph's state keeps."""

from collections.abc import Sequence
from typing import Any

from coderag.schema import (
    Answer,
    AssembledContext,
    Citation,
    ContextItem,
    ContextSection,
    Omission,
    SearchHit,
)


def context_from_record(record: dict[str, Any]) -> AssembledContext:
    """Return the context that `dataclasses.asdict` took apart."""
    sections = [
        ContextSection(**{**section, "items": [ContextItem(**item) for item in section["items"]]})
        for section in record["sections"]
    ]
    omitted = [Omission(**omission) for omission in record["omitted"]]
    return AssembledContext(**{**record, "sections": sections, "omitted": omitted})


def answer_from_record(record: dict[str, Any], hits: Sequence[SearchHit]) -> Answer:
    """Return the answer that `dataclasses.asdict` took apart, with the hits that it rests on."""
    citations = [Citation(**citation) for citation in record["citations"]]
    return Answer(**{**record, "citations": citations, "hits": hits})
