"""The modes ``exact`` and ``regex`` of ``coderag_search``: matching lines below the declaration around them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from coderag.interfaces.mcp.arguments import MAX_RANKED_RESULTS, SearchArguments
from coderag.interfaces.mcp.cleaner import Cleaner
from coderag.interfaces.mcp.declarations import find_enclosing
from coderag.interfaces.mcp.places import format_record_place, to_place_record
from coderag.interfaces.mcp.replies import ReplyPart
from coderag.interfaces.mcp.repositories import RepositoryHandle
from coderag.schema.graph import GraphDeclaration

if TYPE_CHECKING:
    from coderag.schema.text_matches import TextMatch, TextMatches

_MAX_UNREAD: Final = 3
_MATCHES_PER_LINE: Final = 4
"""Matches that are fetched for each line of a page, as a line may have several."""

_MAX_LINES_PER_MATCH: Final = 12


@dataclass(slots=True)
class MatchingLines:
    """The lines that match one text.

    Attributes:
        total: Number of matches.
        count_text: The same in words.
    """

    parts: list[ReplyPart] = field(default_factory=list)
    total: int = 0
    count_text: str = ""
    notes: list[str] = field(default_factory=list)


class TextWriter:
    """Writer of matching lines into parts, each line once.

    Args:
        handles: Repositories to search.
        arguments: Arguments of the call.
    """

    def __init__(self, handles: Sequence[RepositoryHandle], arguments: SearchArguments) -> None:
        self._handles = handles
        self._arguments = arguments
        self._seen = set[tuple[str, str, int]]()

    def find(self, query: str, title: str) -> MatchingLines:
        """Return the page of matching lines, repository by repository."""
        arguments, found = self._arguments, MatchingLines()
        end = arguments.offset + arguments.result_count
        lines, files = list[tuple[RepositoryHandle, "TextMatch"]](), 0
        for handle in self._handles:
            result = handle.engine.search_text(
                query, regex=arguments.mode == "regex", limit=end * _MATCHES_PER_LINE, filters=arguments.filters or None
            )
            first_matches = {(match.path, match.start_line): match for match in reversed(result.matches)}
            unique = [match for match in result.matches if first_matches[match.path, match.start_line] is match]
            lines += [(handle, match) for match in unique]
            found.notes += _build_notes(result, handle.make_cleaner())
            found.total += result.total
            files += len(result.files)
        page = lines[arguments.offset : end]
        for handle in self._handles:
            found.parts += self._build_parts(handle, [match for owner, match in page if owner is handle], title)
        if found.total:
            found.count_text = f"{_count(found.total, 'match', 'matches')} in {_count(files, 'file', 'files')}"
        else:
            found.notes.append("It stands nowhere in the indexed files. Next: mode hybrid, or coderag_status.")
        if len(lines) > end:
            found.notes.append(f"More: offset={end}." if end < MAX_RANKED_RESULTS else "More: narrow it by file_path.")
        return found

    def _build_parts(self, handle: RepositoryHandle, matches: Sequence["TextMatch"], title: str) -> Iterator[ReplyPart]:
        """Yield a part for each run of lines in one declaration, or outside of any in one file."""
        graph, cleaner = handle.engine.graph, handle.make_cleaner()
        repository = handle.name if len(self._handles) > 1 else ""
        entries = [(match, find_enclosing(graph, str(match.path), match.start_line)) for match in matches]
        for (path, declaration), run in groupby(entries, key=lambda entry: (str(entry[0].path), entry[1])):
            group = [match for match, _ in run if (repository, path, match.start_line) not in self._seen]
            self._seen.update((repository, path, match.start_line) for match in group)
            if group:
                yield self._build_part(group, declaration, cleaner, repository, title)

    def _build_part(
        self,
        matches: Sequence["TextMatch"],
        declaration: GraphDeclaration | None,
        cleaner: Cleaner,
        repository: str,
        title: str,
    ) -> ReplyPart:
        limit = self._arguments.snippet_lines
        shown = matches if limit is None else matches[:limit]
        rows = [row for match in shown for row in _format_rows(match, cleaner)]
        hidden = f" ({_count(len(matches) - len(shown), 'line', 'lines')} more)" if len(shown) < len(matches) else ""
        base: dict[str, Any] = {"repository": repository} if repository else {}
        if declaration is None:
            head = "/".join(filter(None, (repository, cleaner.clean_line(str(matches[0].path)))))
        else:
            record = to_place_record(declaration, cleaner)
            base |= {"name": record["name"], "kind": record["kind"]}
            head = f"{format_record_place({**base, **record})} {record['name']}"
        records = [
            {"path": str(match.path), "start_line": match.start_line, "end_line": match.end_line, **base}
            for match in matches
        ]
        return ReplyPart("\n".join([head + hidden, *rows]), records, title=title, has_lines=bool(rows))


def _format_rows(match: "TextMatch", cleaner: Cleaner) -> list[str]:
    code = match.text.rstrip("\r\n").split("\n")[:_MAX_LINES_PER_MATCH]
    return cleaner.clean_rows(code, range(len(code)), match.start_line)


def _build_notes(result: "TextMatches", cleaner: Cleaner) -> list[str]:
    notes = ["It stands nowhere exactly so; these places differ in white space."] if result.whitespace_ignored else []
    notes += [] if result.complete else ["There are more: counting stopped."]
    return notes + [
        f"Not searched: {cleaner.clean_line(path)} ({reason})" for path, reason in result.unread[:_MAX_UNREAD]
    ]


def _count(number: int, singular: str, plural: str) -> str:
    return f"{number:,} {singular if number == 1 else plural}"
