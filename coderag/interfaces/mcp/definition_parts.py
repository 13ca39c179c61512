"""Code, documentation and members of declarations, and outlines of files, as parts of a reply."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from coderag.config.sections import MAX_TOKENS
from coderag.interfaces.excerpt import elide_to_tokens
from coderag.interfaces.mcp.cleaner import Cleaner
from coderag.interfaces.mcp.declarations import FILE_KIND
from coderag.interfaces.mcp.places import format_file_lines, format_range, format_record_place, to_place_record
from coderag.interfaces.mcp.replies import ReplyPart
from coderag.schema.chunks import format_location
from coderag.schema.context import ContextItem
from coderag.schema.graph import GraphDeclaration, OutlineEntry
from coderag.schema.search import SearchHit

if TYPE_CHECKING:
    from coderag.app import CodeRAG

_ELIDABLE_KINDS: Final = frozenset({"function", "method"})
_MIN_PIECES: Final = 2
_FRAME_TOKENS: Final = 150  # of a reply around the code
_MAX_MEMBERS: Final = 40
_MAX_NAMES_PER_LINE: Final = 20
_MAX_OUTLINE_DEPTH: Final = 9
_find_words = re.compile(r"\w+").findall


def build_definition_parts(
    engine: "CodeRAG",
    declarations: Sequence[GraphDeclaration],
    cleaner: Cleaner,
    token_budget: int,
    title: str = "",
) -> list[ReplyPart]:
    """Build parts with the code of declarations, elided to a token budget."""
    readable = [declaration for declaration in declarations if declaration.path and declaration.kind != FILE_KIND]
    if not readable:
        return []
    places = [
        format_location(declaration.path, declaration.start_line, declaration.end_line) for declaration in readable
    ]
    names = {
        (declaration.path, declaration.start_line): (declaration.qualified_name, declaration.kind)
        for declaration in readable
    }
    parts = list[ReplyPart]()
    items = [
        item
        for section in engine.read(places, token_budget=token_budget).sections
        for item in _join_pieces(section.items)
    ]
    for declaration in readable:
        if declaration.kind in _ELIDABLE_KINDS:
            items = _elide_declaration(engine, declaration, items, token_budget // len(readable))
    for item in items:
        # A chunk of several small declarations has the name of the first.
        name, kind = names.get((item.path, item.start_line), (item.name, item.kind))
        record: dict[str, Any] = {
            "path": cleaner.clean_line(item.path),
            "start_line": item.start_line,
            "end_line": item.end_line,
            "name": cleaner.clean_line(name),
            "kind": kind,
        }
        if item.detail != "full":
            record["detail"] = item.detail
        text = f"{format_record_place(record)} {record['name']}"
        code = cleaner.clean_code(item.text)
        parts.append(ReplyPart(text, [record], code, item.language, "definitions", title))
    return parts


def build_description_parts(
    engine: "CodeRAG", declarations: Iterable[GraphDeclaration], hits: Sequence[SearchHit], cleaner: Cleaner
) -> Iterator[ReplyPart]:
    """Yield parts with the signature, the first sentence of documentation and the members of declarations.

    Args:
        engine: The repository.
        declarations: The declarations.
        hits: Results for their name, which have signatures and documentation.
        cleaner: Sanitiser of the repository's texts.
    """
    for declaration in declarations:
        if not declaration.path or declaration.kind == FILE_KIND:
            continue
        record = to_place_record(declaration, cleaner)
        hit = next((hit for hit in hits if _matches_declaration(hit, declaration)), None)
        lines = [f"{format_record_place(record)} {declaration.kind} {record['name']}"]
        if hit is not None:
            record |= {
                "signature": cleaner.clean_line(hit.signature),
                "documentation": find_documentation(hit, cleaner),
            }
            lines += [f"  {record[key]}" for key in ("signature", "documentation") if record[key]]
        members = _list_members(engine, declaration, cleaner)
        if members:
            record["members"] = members[:_MAX_MEMBERS]
            remaining = len(members) - _MAX_MEMBERS
            lines.append(f"  members: {', '.join(record['members'])}{f', {remaining} more' if remaining > 0 else ''}")
        yield ReplyPart("\n".join(lines), [record], key="definitions", has_lines=True)


def build_outline_parts(
    path: str, entries: Sequence[OutlineEntry], cleaner: Cleaner, *, depth: int = 1, title: str = ""
) -> Iterator[ReplyPart]:
    """Yield the parts of a file's declarations: one of each with members, one of each run of others.

    Args:
        path: The file.
        entries: Its outline.
        cleaner: Sanitiser of the repository's texts.
        depth: Maximum depth of members.
        title: Heading over the parts.
    """

    def to_record(entry: OutlineEntry, level: int) -> dict[str, Any]:
        name = cleaner.clean_line(entry.qualified_name)
        lines = {"start_line": entry.start_line, "end_line": entry.end_line}
        return {"path": path, **lines, "name": name, "kind": entry.kind, "depth": level}

    for (kind, has_members), run in groupby(entries, key=lambda entry: (entry.kind, bool(entry.children))):
        group = list(run)
        size = 1 if has_members else _MAX_NAMES_PER_LINE
        for part in [group[first : first + size] for first in range(0, len(group), size)]:
            inner = list(_flatten(part[0].children, depth)) if has_members else []
            names = ", ".join(_format_entry(entry, cleaner) for entry in part)
            members = ", ".join(_format_entry(entry, cleaner, part[0].qualified_name) for _, entry in inner)
            records = [to_record(entry, 0) for entry in part] + [to_record(entry, level) for level, entry in inner]
            text = f"{kind} {names}{f': {members}' if members else ''}"
            yield ReplyPart(text, records, key="outline", title=title)


def format_outline(path: str, entries: Sequence[OutlineEntry], cleaner: Cleaner) -> list[str]:
    """Format all declarations of a file."""
    return [part.text for part in build_outline_parts(path, entries, cleaner, depth=_MAX_OUTLINE_DEPTH)]


def find_documentation(hit: SearchHit, cleaner: Cleaner) -> str:
    """Return the summary of a result if its own text has it; a generated one is no documentation."""
    words, text = " ".join(_find_words(hit.summary)), " ".join(_find_words(hit.text))
    return cleaner.clean_line(hit.summary) if words and words in text else ""


def _list_members(engine: "CodeRAG", declaration: GraphDeclaration, cleaner: Cleaner) -> list[str]:
    """Return the names and lines of what a type declares, members in other files with those."""
    graph = engine.graph
    node = graph.symbols.find_innermost(declaration.path, declaration.start_line)
    members = [] if node is None else graph.declaration_groups.find_members([node])
    records = [to_place_record(graph.symbol_resolver.to_declaration(member), cleaner) for member in members]
    prefix = f"{cleaner.clean_line(declaration.qualified_name)}."
    own = [{**record, "name": record["name"].removeprefix(prefix)} for record in records]
    return [
        line.removeprefix(f"{declaration.path}: ")
        for line, _ in format_file_lines([record for record in own if record["kind"] != "variable"])
    ]


def _elide_declaration(
    engine: "CodeRAG", declaration: GraphDeclaration, items: Sequence[ContextItem], token_budget: int
) -> list[ContextItem]:
    """Replace the pieces of a long function by one excerpt, so that lines of its end count as much as those of its begin.

    Args:
        engine: The repository.
        declaration: The function.
        items: Pieces of several declarations.
        token_budget: Maximum tokens of the excerpt.
    """
    pieces = [item for item in items if _is_inside(item, declaration)]
    if len(pieces) < _MIN_PIECES or all(piece.detail == "full" for piece in pieces):
        return list(items)
    place = format_location(declaration.path, declaration.start_line, declaration.end_line)
    full_items = [item for section in engine.read([place], token_budget=MAX_TOKENS).sections for item in section.items]
    if any(item.detail != "full" for item in full_items):
        return list(items)
    lines = {
        number: line for item in full_items for number, line in enumerate(item.text.split("\n"), item.start_line)
    }  # blank lines between chunks are in none
    code = [lines.get(number, "") for number in range(declaration.start_line, declaration.end_line + 1)]
    text = elide_to_tokens(code, declaration.start_line, token_budget - _FRAME_TOKENS)
    excerpt = replace(
        pieces[0], start_line=declaration.start_line, end_line=declaration.end_line, text=text, detail="elided"
    )
    position = items.index(pieces[0])
    return [*items[:position], excerpt, *(item for item in items[position:] if item not in pieces)]


def _is_inside(item: ContextItem, declaration: GraphDeclaration) -> bool:
    return (
        item.path == declaration.path
        and declaration.start_line <= item.start_line
        and item.end_line <= declaration.end_line
    )


def _join_pieces(items: Iterable[ContextItem]) -> Iterator[ContextItem]:
    """Yield items with the consecutive pieces of a long declaration joined."""
    previous: ContextItem | None = None
    for item in items:
        if previous is not None and _is_continued_by(previous, item):
            previous = replace(
                previous,
                end_line=item.end_line,
                text=f"{previous.text}\n{item.text}",
                detail="full" if previous.detail == item.detail == "full" else "elided",
            )
            continue
        if previous is not None:
            yield previous
        previous = item
    if previous is not None:
        yield previous


def _is_continued_by(item: ContextItem, following: ContextItem) -> bool:
    return (
        {item.detail, following.detail} <= {"full", "elided"}
        and (item.path, item.name) == (following.path, following.name)
        and item.end_line + 1 == following.start_line
    )


def _matches_declaration(hit: SearchHit, declaration: GraphDeclaration) -> bool:
    return (
        str(hit.path) == declaration.path
        and hit.start_line <= declaration.end_line
        and declaration.start_line <= hit.end_line
        and hit.qualified_name == declaration.qualified_name
    )


def _flatten(entries: Iterable[OutlineEntry], max_depth: int, depth: int = 1) -> Iterator[tuple[int, OutlineEntry]]:
    for entry in entries:
        yield depth, entry
        if depth < max_depth:
            yield from _flatten(entry.children, max_depth, depth + 1)


def _format_entry(entry: OutlineEntry, cleaner: Cleaner, owner: str = "") -> str:
    name = entry.qualified_name.removeprefix(f"{owner}.") if owner else entry.qualified_name
    return f"{cleaner.clean_line(name)} {format_range(entry.start_line, entry.end_line)}"
