"""``coderag_history``: commits, people and co-changes of code."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from coderag.errors import UnknownRevisionError
from coderag.interfaces.mcp.arguments import HistoryArguments
from coderag.interfaces.mcp.cleaner import Cleaner
from coderag.interfaces.mcp.replies import McpReply, ReplyPart
from coderag.interfaces.mcp.repositories import RepositoryHandle
from coderag.interfaces.mcp.tool import ToolDefinition, ToolRequest
from coderag.schema.chunks import format_location
from coderag.text.references import find_commit_ids, find_tickets

if TYPE_CHECKING:
    from coderag.schema.lineage import Commit, CommitDetails

_MAX_BODIES: Final = 3
_MAX_BODY_CHARS: Final = 400
_MAX_NAMES: Final = 12
_TEXT_NOTE: Final = "A ticket's commits are those whose messages name it."
_COUNT_NOTE: Final = "Co-change counts commits; it is no dependency."


async def run_history(call: ToolRequest, arguments: HistoryArguments) -> McpReply:
    """Return what the history has for a target or for words."""
    handle = await call.open(arguments.repository)
    return await call.run(partial(_HistoryReply(handle, arguments).build))


class _HistoryReply:
    def __init__(self, handle: RepositoryHandle, arguments: HistoryArguments) -> None:
        self._handle = handle
        self._engine = handle.engine
        self._arguments = arguments
        self._cleaner: Cleaner = handle.make_cleaner()
        self._notes: list[str] = []

    def build(self) -> McpReply:
        """Build the reply."""
        arguments = self._arguments
        parts = list(self._find_by_words() if arguments.query else self._find_by_target())
        if not parts:
            self._notes.append("No commit answers. Next: other words in query, or target without since and until.")
        return McpReply(
            facts={"repository": self._handle.name, "results": []},
            parts=parts,
            notes=[*dict.fromkeys(self._notes)],
            describe_next_call=lambda _: "the same call with a lower limit, or with since and until.",
            max_tokens=arguments.max_tokens,
        )

    def _find_by_words(self) -> Iterator[ReplyPart]:
        """Yield the commit of an id, those of a ticket, or those whose messages match words."""
        history, arguments = self._engine.history, self._arguments
        query = arguments.query.strip()
        if find_commit_ids(query) == [query]:
            try:
                yield self._format_details(history.get_commit(query))
            except UnknownRevisionError as error:
                self._notes.append(f"{error}.")
            return
        if query.startswith("#") or find_tickets(query) == [query]:
            self._notes.append(_TEXT_NOTE)
            yield from map(self._format_details, history.find_declarations_by_ticket(query)[: arguments.limit])
            return
        limits = {"since": arguments.since, "until": arguments.until}
        for match in history.find_commits(query, limit=arguments.limit, **limits):
            yield self._format_commit(match.commit)

    def _find_by_target(self) -> Iterator[ReplyPart]:
        """Yield commits, people, co-changes or the blame of the target."""
        history, arguments = self._engine.history, self._arguments
        subject = self._engine.find_history_subject(arguments.target or ".")
        limits: dict[str, Any] = {"since": arguments.since, "until": arguments.until, "limit": arguments.limit}
        if arguments.show == "people":
            authors = history.find_authors(subject.path, subject.start_line, subject.end_line)
            self._notes += authors.notes
            for share in authors.authors[: arguments.limit]:
                text = f"{share.author}: {share.lines} lines, {share.commits} commits, last {share.last_time:%Y-%m-%d}"
                yield self._make_part(text, author=share.author, lines=share.lines, commits=share.commits)
        elif arguments.show == "together":
            co_changes = history.find_co_changes(subject.path, subject.qualified_name, **limits)
            self._notes += [*co_changes.notes, _COUNT_NOTE]
            for other in co_changes.changes:
                name = other.qualified_name or other.path
                text = f"{name}: {other.together} of {other.subject_commits} commits, of its own {other.other_commits}"
                yield self._make_part(text, path=other.path, name=other.qualified_name, together=other.together)
        elif arguments.show == "blame":
            blame = history.blame(subject.path, subject.start_line or 1, subject.end_line)
            self._notes += blame.notes
            for entry in blame.lines:
                place = format_location(blame.path, entry.start_line, entry.end_line)
                head = self._format_head(entry.commit) if entry.commit else "not committed"
                yield self._make_part(f"{place} {head}", place=place, commit=entry.commit.id if entry.commit else "")
        else:
            listed = history.list_subject_commits(subject, **limits)
            self._notes += listed.notes
            for number, change in enumerate(listed.changes):
                lines = change.start_line, change.end_line
                place = format_location(change.path, *lines) if change.start_line else change.path
                has_lines = bool(subject.start_line)
                has_body = has_lines and number < _MAX_BODIES
                yield self._format_commit(change.commit, place if has_lines else "", has_body=has_body)

    def _format_details(self, details: "CommitDetails") -> ReplyPart:
        """Format a commit with the declarations that it changed, or else its files."""
        names = [f"{change.qualified_name} ({change.change})" for change in details.declarations or ()]
        names = names or [change.path for change in details.files]
        more = f", {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
        text = f"{self._format_text(details.commit, has_body=True)}\n  changed: {', '.join(names[:_MAX_NAMES])}{more}"
        return self._make_part(text, **_describe(details.commit), changed=names[:_MAX_NAMES])

    def _format_commit(self, commit: "Commit", place: str = "", *, has_body: bool = False) -> ReplyPart:
        return self._make_part(self._format_text(commit, place, has_body=has_body), **_describe(commit), place=place)

    def _format_text(self, commit: "Commit", place: str = "", *, has_body: bool = False) -> str:
        body = " ".join(commit.body.split()) if has_body else ""
        cut = body if len(body) <= _MAX_BODY_CHARS else f"{body[:_MAX_BODY_CHARS].rsplit(' ', 1)[0]} …"
        lines = [self._format_head(commit) + (f" — {place}" if place else ""), *([f"  {cut}"] if cut else [])]
        return "\n".join(lines)

    def _format_head(self, commit: "Commit") -> str:
        references = [reference.text for reference in commit.references if reference.text not in commit.subject]
        named = f" [{', '.join(references[:3])}]" if references else ""
        return f"{commit.short_id} {commit.time:%Y-%m-%d} {commit.author}: {commit.subject}{named}"

    def _make_part(self, text: str, **record: Any) -> ReplyPart:  # noqa: ANN401  # values of JSON
        cleaned = "\n".join(self._cleaner.clean_code(line) for line in text.split("\n"))
        return ReplyPart(cleaned, [{name: _clean(self._cleaner, value) for name, value in record.items() if value}])


def _describe(commit: "Commit") -> dict[str, Any]:
    return {
        "commit": commit.id,
        "time": commit.time.isoformat(),
        "author": commit.author,
        "subject": commit.subject,
        "references": [reference.text for reference in commit.references],
    }


def _clean(cleaner: Cleaner, value: Any) -> Any:  # noqa: ANN401  # values of JSON
    if isinstance(value, str):
        return cleaner.clean_line(value)
    return [cleaner.clean_line(entry) for entry in value] if isinstance(value, Sequence) else value


HISTORY = ToolDefinition(
    "coderag_history",
    "History of code",
    "Why, when and by whom code was changed: commits of a file, lines or a declaration (through renames), of words or a"
    " ticket; who knows it; what changes together with it.",
    HistoryArguments,
    run_history,
)
