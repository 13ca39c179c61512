"""What a report is searched with: weighted sub-queries over its parts, the names in it, and the places it points to."""

import math
import re
from collections import Counter
from collections.abc import Iterable

from coderag.question.entities import find_entities, names_in
from coderag.question.reports import PartKind, Report, is_report
from coderag.schema.query import Entity, ReportFrame, ReportQuery
from coderag.text.tokenizer import tokenize_query

PART_WEIGHTS: dict[PartKind, float] = {
    "title": 1.0,
    "prose": 1.0,
    "message": 0.7,
    "steps": 0.5,
    "code": 0.5,
    "trace": 0.4,
    "log": 0.15,
}
"""What a word counts for in each part of a report; hand-set. Figures: ``docs/reports.md``."""

NAME_PART_WEIGHTS: dict[PartKind, float] = {"title": 1.0, "prose": 0.5, "message": 0.5, "code": 0.3}
"""The same for words that may be part of a declared name."""

_MENTION_WEIGHTS: tuple[tuple[tuple[PartKind, ...], float], ...] = (
    (("title",), 0.6),
    (("prose",), 0.4),
    (("code", "steps"), 0.3),
    (("message", "trace"), 0.2),
)
"""What the declaration of an identifier counts for, by where the report has it."""

_CALL = re.compile(r"\b([A-Za-z_]\w{2,})\s*\(")
_SHORTEST_NAME = 3
_MOST_TERMS, _MOST_NAMES, _MOST_FRAMES, _MOST_PATHS, _MOST_MESSAGES = 600, 80, 60, 20, 10


def make_report_query(report: Report, entities: Iterable[Entity]) -> ReportQuery:
    """Return what to search for.

    Args:
        report: The report, taken apart.
        entities: What its whole text names.
    """
    mentioned = [entity["text"].split(":")[0] for entity in entities if entity["kind"] in ("path", "location")]
    paths = dict.fromkeys([*(place.path for place in report.places), *mentioned])
    return ReportQuery(
        terms=_weighted_terms(report, PART_WEIGHTS),
        name_terms=_weighted_terms(report, NAME_PART_WEIGHTS),
        names=_names(report),
        frames=[
            ReportFrame(path=frame.path, line=frame.line, name=frame.name)
            for frame in sorted(report.frames, key=lambda frame: frame.depth)[:_MOST_FRAMES]
        ],
        paths=list(paths)[:_MOST_PATHS],
        messages=_messages(report),
    )


def _messages(report: Report) -> list[str]:
    """Return what programs said, without what is said again; a title may be no more than that."""
    titles = [title for title in report.text("title").splitlines() if is_report(title)]
    return list(dict.fromkeys([*titles, *report.text("message").splitlines()]))[:_MOST_MESSAGES]


def _weighted_terms(report: Report, weights: dict[PartKind, float]) -> dict[str, float]:
    """Return the terms of the parts with their weights; a term that is repeated in a part counts by its logarithm."""
    total: Counter[str] = Counter()
    for kind, weight in weights.items():
        text = report.text(kind)
        for term, count in Counter(tokenize_query(text) if text.strip() else ()).items():
            total[term] += weight * (1 + math.log(count))  # type: ignore[assignment]  # a counter of weights
    return dict(total.most_common(_MOST_TERMS))


def _names(report: Report) -> dict[str, float]:
    """Return the identifiers of the report, each with the sum of what it counts for where it stands."""
    weights: Counter[str] = Counter()
    for kinds, weight in _MENTION_WEIGHTS:
        text = report.text(*kinds)
        names = set(names_in(find_entities(text)))
        if "code" in kinds:
            names.update(_CALL.findall(text))
        for name in names:
            if len(name) >= _SHORTEST_NAME:
                weights[name] += weight  # type: ignore[assignment]  # as above
    return dict(weights.most_common(_MOST_NAMES))
