"""``coderag_explain``: a file or a declaration in short, and how it fits into the rest."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Final

from coderag.errors import InvalidQueryError, UnknownNameError
from coderag.interfaces.mcp.arguments import LEAST_TOKENS, ExplainArguments
from coderag.interfaces.mcp.cleaning import Cleaner, span
from coderag.interfaces.mcp.missing import as_place, path_of, refuse_path
from coderag.interfaces.mcp.pending import pending_reply
from coderag.interfaces.mcp.places import hit_part
from coderag.interfaces.mcp.relations import counted, declarations_of, definition_parts, related_to
from coderag.interfaces.mcp.replies import Part, Reply
from coderag.interfaces.mcp.repositories import Opened
from coderag.interfaces.mcp.structures import Explained
from coderag.interfaces.mcp.tool import Call, ToolDefinition
from coderag.schema.graph import OutlineEntry
from coderag.schema.search import Filters, SearchHit

if TYPE_CHECKING:
    from coderag.codegraph.graph import CodeGraph

_OF_NAMES: Final = ("callers", "callees", "bases", "subclasses", "tests", "documents")
_OF_FILES: Final = ("imports", "importers", "tests", "documents")
_LIMITS: Final = {"brief": 5, "detailed": 20}
_MORE: Final = {
    "brief": f"detail_level detailed shows up to {_LIMITS['detailed']} of each",
    "detailed": "coderag_symbol with one relation and a limit; imports stand at the head of the file",
}
_BRIEF_LINES: Final = 12
_CODE_SHARE: Final = 0.5
_DEEPEST: Final = 9


async def explain(call: Call, asked: ExplainArguments) -> Reply:
    """Return what a file or a declaration is and how it fits."""
    opened = await call.open(asked.repository)
    subject = asked.name.strip() or asked.file_path.strip()
    if opened.indexing is not None:
        return await pending_reply(call, opened, subject, key="definitions", subject=subject)
    return await call.run(partial(_of_name if asked.name.strip() else _of_file, opened, asked))


def _of_name(opened: Opened, asked: ExplainArguments) -> Reply:
    engine, cleaner = opened.engine, opened.cleaner()
    name = asked.name.strip()
    declared = declarations_of(engine.graph, name)
    limit, more = _LIMITS[asked.detail_level], _MORE[asked.detail_level]
    related = related_to(engine.graph, name, _OF_NAMES, cleaner, limit=limit, more=more)
    first = declared[0]
    hit = next((one for one in engine.definition(first.qualified_name) if str(one.path) == first.path), None)
    if asked.detail_level == "detailed" or hit is None:
        budget = max(LEAST_TOKENS, int(asked.max_tokens * _CODE_SHARE))
        parts = definition_parts(engine, declared, cleaner, budget)
    else:
        parts = [hit_part(hit, cleaner, lines=_BRIEF_LINES, key="definitions")]
    name = cleaner.line(first.name)
    return Reply(
        facts={
            "repository": opened.name,
            "subject": name,
            "kind": first.kind,
            **_known(hit, cleaner),
            "fits": _fits(related.counts, name),
            "definitions": [],
            "neighbours": [],
            "counts": related.counts,
        },
        intro=[
            f"{span(name)}, {first.kind} in {cleaner.line(first.path) or 'no file of this repository'} ({opened.name})",
            *_untold(_known(hit, cleaner).get("summary", ""), parts),
            _fits(related.counts, name),
        ],
        parts=[*parts, *related.parts],
        notes=related.notes,
        more=lambda _: "coderag_symbol with one relation at a time.",
        max_tokens=asked.max_tokens,
    )


def _of_file(opened: Opened, asked: ExplainArguments) -> Reply:
    engine, cleaner = opened.engine, opened.cleaner()
    path = path_of(as_place(opened.repository.root, asked.file_path))
    try:
        entries = engine.graph.outline(path)
    except UnknownNameError as error:
        refuse_path(engine, path, error)
    path = next((one.path for one in declarations_of(engine.graph, path) if one.path), path)
    hit = _hit_of_file(opened, path)
    limit, more = _LIMITS[asked.detail_level], _MORE[asked.detail_level]
    related = related_to(engine.graph, path, _OF_FILES, cleaner, limit=limit, more=more)
    lines = list(_outlined(entries, 0 if asked.detail_level == "brief" else _DEEPEST))
    return Reply(
        facts={
            "repository": opened.name,
            "subject": path,
            "kind": "file",
            **_known(hit, cleaner, is_file=True),
            "fits": _fits(related.counts, path),
            "outline": [],
            "neighbours": [],
            "counts": related.counts,
        },
        intro=[
            f"{cleaner.line(path)}, a file of {opened.name}",
            *(f"{key}: {value}" for key, value in _known(hit, cleaner, is_file=True).items()),
            _fits(related.counts, path),
        ],
        parts=[*(_outline_part(path, depth, entry, cleaner) for depth, entry in lines), *related.parts],
        notes=related.notes,
        more=lambda _: f"coderag_context with file_path={path}.",
        max_tokens=asked.max_tokens,
    )


def outline_lines(graph: "CodeGraph", path: str, cleaner: Cleaner) -> list[str]:
    """Return all declarations of a file, a line each, those inside others indented.

    Raises:
        UnknownNameError: There is no such file.
    """
    entries = _outlined(graph.outline(path), _DEEPEST)
    return [_outline_part(path, depth, entry, cleaner).text for depth, entry in entries]


def _untold(summary: str, parts: Iterable[Part]) -> list[str]:
    """Return a summary, unless a part that is shown has it."""
    return [summary] if summary and not any(summary in part.shown for part in parts) else []


def _known(hit: SearchHit | None, cleaner: Cleaner, *, is_file: bool = False) -> dict[str, str]:
    """Return what a result tells of itself; of its file, if it is only a part of that."""
    if hit is None:
        return {}
    summary = "" if is_file and hit.kind != "module" else cleaner.line(hit.summary)
    told = {"language": hit.language, "role": hit.role, "summary": summary}
    return {key: value for key, value in told.items() if value}


def _hit_of_file(opened: Opened, path: str) -> SearchHit | None:
    """Return the part of a file that stands for the whole, if the index has one."""
    try:
        hits = opened.engine.search(path, top_k=3, filters=Filters(paths=(path,)))
    except InvalidQueryError:  # a path without a word in it
        return None
    return next((hit for hit in hits if hit.kind == "module"), hits[0] if hits else None)


def _fits(counts: dict[str, int], name: str) -> str:
    told = counted(counts)
    return f"How it fits: {told}." if told else f"How it fits: nothing else is known to use {name}."


def _outlined(entries: Iterable[OutlineEntry], most: int, depth: int = 0) -> Iterator[tuple[int, OutlineEntry]]:
    for entry in entries:
        yield depth, entry
        if depth < most:
            yield from _outlined(entry.children, most, depth + 1)


def _outline_part(path: str, depth: int, entry: OutlineEntry, cleaner: Cleaner) -> Part:
    name = cleaner.line(entry.qualified_name)
    data = {
        "path": path,
        "start_line": entry.start_line,
        "end_line": entry.end_line,
        "name": name,
        "kind": entry.kind,
        "depth": depth,
    }
    more = f" (holds {len(entry.children)})" if entry.children else ""
    text = f"{'  ' * depth}- {entry.kind} {span(name)} {entry.start_line}-{entry.end_line}{more}"
    return Part(text, data, key="outline", title="Outline")


EXPLAIN = ToolDefinition(
    "coderag_explain",
    "Explain a file or symbol",
    "Get an overview of one file or name: outline, signature, summary, who calls and tests it, how it fits in. "
    "Call it instead of reading a whole file. detailed adds code, nested declarations and longer lists.",
    ExplainArguments,
    Explained,
    explain,
)
