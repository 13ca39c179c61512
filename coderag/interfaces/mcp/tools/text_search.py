"""The modes ``exact`` and ``regex`` of ``coderag_search``."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from coderag.interfaces.mcp.arguments import MAX_RANKED_RESULTS, SearchArguments
from coderag.interfaces.mcp.cleaner import Cleaner
from coderag.interfaces.mcp.replies import McpReply, ReplyPart
from coderag.interfaces.mcp.repositories import RepositoryHandle
from coderag.text.code_fences import format_code_span

if TYPE_CHECKING:
    from coderag.schema.text_matches import TextMatch, TextMatches

_MAX_UNREAD = 3


def build_text_reply(handles: Sequence[RepositoryHandle], arguments: SearchArguments) -> McpReply:
    """Build the reply with every match of a text, repository by repository."""
    end, parts, notes, total = arguments.offset + arguments.top_k, list[ReplyPart](), list[str](), 0
    for handle in handles:
        cleaner = handle.make_cleaner()
        result = handle.engine.search_text(
            arguments.query, regex=arguments.mode == "regex", limit=end, filters=arguments.filters or None
        )
        name = handle.name if len(handles) > 1 else ""
        parts += [_build_match_part(match, cleaner, name) for match in result.matches]
        notes += _build_notes(result, cleaner)
        total += result.total
    page = parts[arguments.offset : end]
    if total > end:
        next_step = (
            f"the same call with offset={end}"
            if end < MAX_RANKED_RESULTS
            else "narrow it down with file_path or language"
        )
        notes.append(f"More: {next_step}.")
    if not total:
        notes.append(
            "It stands nowhere in the indexed files. Next: mode hybrid finds what it means in other words; "
            "coderag_status says what is not indexed."
        )
    return McpReply(
        facts={
            **({"repository": handles[0].name} if len(handles) == 1 else {}),
            "evidence": "found" if total else "not_found",
            "total": total,
            "results": [],
        },
        intro=[f"{total} matches ({arguments.mode}), {len(page)} of them here"],
        parts=page,
        notes=notes,
    )


def _build_notes(result: "TextMatches", cleaner: Cleaner) -> list[str]:
    notes = []
    if result.whitespace_ignored:
        notes.append("It stands nowhere exactly so; these places differ in white space.")
    if not result.complete:
        notes.append("There are more: counting stopped.")
    notes += [f"Not searched: {cleaner.clean_line(path)} ({reason})" for path, reason in result.unread[:_MAX_UNREAD]]
    return notes


def _build_match_part(match: "TextMatch", cleaner: Cleaner, repository: str) -> ReplyPart:
    text = match.text.rstrip("\r\n")
    data = {"path": str(match.path), "start_line": match.start_line, "end_line": match.end_line}
    if repository:
        data["repository"] = repository
    if match.symbol:
        data |= {"name": cleaner.clean_line(match.symbol), "kind": match.kind}
    place = f"{repository}/{match.location}" if repository else match.location
    inside = f" in {match.kind} {format_code_span(cleaner.clean_line(match.symbol))}" if match.symbol else ""
    if match.start_line != match.end_line:
        return ReplyPart(f"- {cleaner.clean_line(place)}{inside}", data, cleaner.clean_code(text), match.language)
    code = cleaner.clean_line(text)
    return ReplyPart(f"- {cleaner.clean_line(place)}{inside}: {format_code_span(code)}", {**data, "code": code})
