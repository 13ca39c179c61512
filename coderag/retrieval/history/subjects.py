"""Subjects of a question about history: the code that it names, or else the best results."""

import re
from collections.abc import Iterator
from typing import Final

from coderag.retrieval.query_context import QueryContext
from coderag.schema.history_evidence import HistorySubject
from coderag.schema.query import QueryState

_MAX_SUBJECTS: Final = 3
_MIN_QUALITY: Final = 0.7
"""Quality of a name's spelling, below which another declaration is meant."""

_LOCATION: Final = re.compile(r"(?P<path>.+?):(?P<start>\d+)")


def find_subjects(context: QueryContext, state: QueryState) -> list[HistorySubject]:
    """Find what a question about history is about, the likeliest first; all of them are named, or none is."""
    named = dict.fromkeys(_list_named(context, state))
    return list(named)[:_MAX_SUBJECTS] or list(_list_results(context, state))[:_MAX_SUBJECTS]


def _list_named(context: QueryContext, state: QueryState) -> Iterator[HistorySubject]:
    entities = state["analysis"]["entities"]
    for entity in entities:
        match = _LOCATION.fullmatch(entity["text"]) if entity["kind"] == "location" else None
        if match and (path := find_path(context, match["path"])):
            start = int(match["start"])
            last_line = re.search(rf"{re.escape(entity['text'])}-(\d+)", state["query"])
            yield HistorySubject(path, start_line=start, end_line=int(last_line[1]) if last_line else start)
    names = [
        *state["analysis"]["reading"]["subjects"],
        *(entity["text"] for entity in entities if entity["kind"] in ("identifier", "qualified_name")),
    ]
    for name in dict.fromkeys(names):
        yield from _find_declarations(context, name)
    for entity in entities:
        if entity["kind"] == "path" and (path := find_path(context, entity["text"])):
            yield HistorySubject(path)


def _find_declarations(context: QueryContext, name: str) -> Iterator[HistorySubject]:
    """Yield the declarations of a name that fit equally well, those outside tests first."""
    corpus = context.corpus
    matches = corpus.symbols.find(name)
    best = [match for match in matches if match.quality == matches[0].quality >= _MIN_QUALITY]
    paths = {match.row: corpus.paths[corpus.chunk_files[match.row]] for match in best}
    # The widest of several is the implementation: overloads and prototypes have few lines.
    best.sort(key=lambda match: (corpus.get_value("role", match.row) == "test", match.start_line - match.end_line))
    for match in best:
        yield HistorySubject(paths[match.row], match.start_line, match.end_line, match.qualified_name, match.kind)


def _list_results(context: QueryContext, state: QueryState) -> Iterator[HistorySubject]:
    corpus = context.corpus
    for result in state["results"]:
        path = corpus.paths[corpus.chunk_files[corpus.rows_by_id[result["chunk_id"]]]]
        yield HistorySubject(path, result["start_line"], result["end_line"], result["symbol"], is_named=False)


def find_path(context: QueryContext, text: str) -> str:
    """Return the file or folder of the repository that a path means, whole or by its end; empty if none or several."""
    wanted = text.strip("/").removeprefix("./")
    paths = context.corpus.paths
    if any(path == wanted or path.startswith(f"{wanted}/") for path in paths):
        return wanted
    ends = {path for path in paths if path.endswith(f"/{wanted}")}
    folders = {path[: path.index(f"/{wanted}/") + len(wanted) + 1] for path in paths if f"/{wanted}/" in path}
    return next(iter(ends | folders)) if len(ends | folders) == 1 else ""
