"""The modes ``exact`` and ``regex`` of ``coderag_search``."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from coderag.interfaces.mcp.arguments import DEEPEST, SearchArguments
from coderag.interfaces.mcp.cleaning import Cleaner, span
from coderag.interfaces.mcp.replies import Part, Reply
from coderag.interfaces.mcp.repositories import Opened

if TYPE_CHECKING:
    from coderag.retrieval.text_search.text_matches import TextMatch, TextMatches

_MOST_UNREAD = 3


def text_reply(opened: Sequence[Opened], asked: SearchArguments) -> Reply:
    """Return every place where a text stands, in all repositories one after the other."""
    wanted, parts, notes, total = asked.offset + asked.top_k, list[Part](), list[str](), 0
    for one in opened:
        cleaner = one.cleaner()
        found = one.engine.search_text(
            asked.query, regex=asked.mode == "regex", limit=wanted, filters=asked.filters or None
        )
        name = one.name if len(opened) > 1 else ""
        parts += [_part(match, cleaner, name) for match in found.matches]
        notes += _notes(found, cleaner)
        total += found.total
    page = parts[asked.offset : wanted]
    if total > wanted:
        more = (
            f"the same call with offset={wanted}" if wanted < DEEPEST else "narrow it down with file_path or language"
        )
        notes.append(f"More: {more}.")
    if not total:
        notes.append(
            "It stands nowhere in the indexed files. Next: mode hybrid finds what it means in other words; "
            "coderag_status says what is not indexed."
        )
    return Reply(
        facts={
            **({"repository": opened[0].name} if len(opened) == 1 else {}),
            "evidence": "found" if total else "not_found",
            "total": total,
            "results": [],
        },
        intro=[f"{total} matches ({asked.mode}), {len(page)} of them here"],
        parts=page,
        notes=notes,
    )


def _notes(found: "TextMatches", cleaner: Cleaner) -> list[str]:
    told = []
    if found.whitespace_ignored:
        told.append("It stands nowhere exactly so; these places differ in white space.")
    if not found.complete:
        told.append("There are more: counting stopped.")
    told += [f"Not searched: {cleaner.line(path)} ({reason})" for path, reason in found.unread[:_MOST_UNREAD]]
    return told


def _part(match: "TextMatch", cleaner: Cleaner, repository: str) -> Part:
    lines = match.text.rstrip("\r\n")
    data = {"path": str(match.path), "start_line": match.start_line, "end_line": match.end_line}
    if repository:
        data["repository"] = repository
    if match.symbol:
        data |= {"name": cleaner.line(match.symbol), "kind": match.kind}
    place = f"{repository}/{match.location}" if repository else match.location
    inside = f" in {match.kind} {span(cleaner.line(match.symbol))}" if match.symbol else ""
    if match.start_line != match.end_line:
        return Part(f"- {cleaner.line(place)}{inside}", data, cleaner.code(lines), match.language)
    code = cleaner.line(lines)
    return Part(f"- {cleaner.line(place)}{inside}: {span(code)}", {**data, "code": code})
