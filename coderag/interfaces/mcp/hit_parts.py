"""Search results as parts of a reply: the first with its code and neighbours, others with the lines that match."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from coderag.interfaces.excerpt import find_deciding_lines, find_matching_lines
from coderag.interfaces.mcp.cleaner import Cleaner
from coderag.interfaces.mcp.declarations import find_hit_declaration
from coderag.interfaces.mcp.places import format_file_lines, format_record_place, to_place_record
from coderag.interfaces.mcp.replies import ReplyPart
from coderag.schema.graph import GraphDeclaration
from coderag.schema.search import SearchHit

if TYPE_CHECKING:
    from coderag.codegraph.graph import CodeGraph

_MAX_BODY_LINES: Final = 24
_MAX_BODY_CHARS: Final = 900
_DECIDING_LINES: Final = 14  # of a first result that is too long to be shown in full
_MATCHING_LINES: Final = 1  # of any other result
_MAX_DETAILED: Final = 6  # results with lines; others are names in their file
_MAX_NEIGHBOURS: Final = 6
_MAX_SIGNATURE_CHARS: Final = 120
BARE_MARK: Final = "- "


@dataclass(frozen=True, slots=True)
class HitSource:
    """The repository of some results.

    Attributes:
        graph: Its code graph; None while it is indexed for the first time.
        cleaner: Sanitiser of its texts.
        repository: Its name if there are several.
    """

    graph: "CodeGraph | None"
    cleaner: Cleaner
    repository: str = ""


@dataclass(slots=True)
class HitWriter:
    """Writer of results into parts, each place once.

    Attributes:
        lines: Lines of code for each result; None for as many as its rank deserves.
        key: Key of the list in the data.
    """

    lines: int | None = None
    key: str = "results"
    _seen: set[tuple[str, str, int]] = field(default_factory=set)

    def build_parts(
        self, hits: Sequence[tuple[HitSource, SearchHit]], query: str, *, offset: int = 0, title: str = ""
    ) -> list[ReplyPart]:
        """Build the parts of a page of results, best first.

        Args:
            hits: The results.
            query: The query, whose words the shown lines have.
            offset: Number of results before the page.
            title: Heading over the parts.
        """
        parts, repeated, bare = list[ReplyPart](), list[str](), list[Mapping[str, Any]]()
        for number, (source, hit) in enumerate(hits, offset + 1):
            declaration = find_hit_declaration(source.graph, hit) if source.graph else None
            record = _build_record(source, hit, declaration)
            key = (source.repository, record["path"], record["start_line"])
            if key in self._seen:
                repeated.append(format_record_place(record))
                continue
            self._seen.add(key)
            if self.lines is None and number > _MAX_DETAILED:
                bare.append(record)
                continue
            head, rows, line_numbers = self._build_texts(source, hit, record, query, is_first=number == 1)
            neighbours = _format_neighbours(source, declaration) if declaration and number == 1 else []
            records = [{**record, "lines": line_numbers}] if rows else [record]
            text = "\n".join([f"{number}. {head}", *rows, *neighbours])
            parts.append(ReplyPart(text, records, key=self.key, title=title, has_lines=bool(rows)))
        if repeated:
            parts.append(ReplyPart(f"shown above: {', '.join(repeated)}", [], key=self.key, title=title))
        bare_lines = format_file_lines(bare)
        return [*parts, *(ReplyPart(BARE_MARK + line, part, key=self.key, title=title) for line, part in bare_lines)]

    def _build_texts(
        self, source: HitSource, hit: SearchHit, record: Mapping[str, Any], query: str, *, is_first: bool
    ) -> tuple[str, list[str], list[int]]:
        """Return the line with the place of a result, its lines of code, and their numbers."""
        first_line = max(record["start_line"], hit.start_line)
        code = hit.text.split("\n")[first_line - hit.start_line :][: record["end_line"] - first_line + 1]
        indexes = [index for index in self._select_lines(code, query, is_first=is_first) if code[index].strip()]
        rows = source.cleaner.clean_rows(code, indexes, first_line)
        signature = "" if 0 in indexes else source.cleaner.clean_line(hit.signature)[:_MAX_SIGNATURE_CHARS]
        has_name = hit.qualified_name == hit.name and hit.name in signature
        label = signature if has_name else " ".join(filter(None, (record["name"], signature)))
        head = f"{format_record_place(record)} {label if signature or rows else f'{label} ({hit.kind})'}"
        return head, rows, [first_line + index for index in indexes]

    def _select_lines(self, code: Sequence[str], query: str, *, is_first: bool) -> list[int]:
        """Return the indexes of the shown lines: all of a short body, else those that match."""
        if self.lines is not None:
            return list(range(len(code))) if len(code) <= self.lines else find_matching_lines(code, query, self.lines)
        if is_first and len(code) <= _MAX_BODY_LINES and sum(map(len, code)) <= _MAX_BODY_CHARS:
            return list(range(len(code)))
        if is_first and code:
            return find_deciding_lines(code, query, _DECIDING_LINES, _MAX_BODY_CHARS)
        return find_matching_lines(code, query, _MATCHING_LINES)


def _build_record(source: HitSource, hit: SearchHit, declaration: GraphDeclaration | None) -> dict[str, Any]:
    """Build the record of a result, with the exact lines of its declaration."""
    record: dict[str, Any] = {
        "path": source.cleaner.clean_line(str(hit.path)),
        "start_line": declaration.start_line if declaration else hit.start_line,
        "end_line": declaration.end_line if declaration else hit.start_line + hit.text.rstrip().count("\n"),
        "name": source.cleaner.clean_line(hit.qualified_name),
        "kind": hit.kind,
    }
    record |= {"repository": source.repository} if source.repository else {}
    return record if hit.role == "source" else {**record, "role": hit.role}


def _format_neighbours(source: HitSource, declaration: GraphDeclaration) -> Iterator[str]:
    """Yield the callers and callees of a result, each relation in one line."""
    assert source.graph is not None
    graph, name = source.graph.permissive, f"{declaration.path}::{declaration.qualified_name}"
    for label, neighbours in (("called by", graph.callers(name)), ("calls", graph.callees(name))):
        internal = [to_place_record(neighbour, source.cleaner) for neighbour in neighbours if neighbour.path]
        if places := "; ".join(line for line, _ in format_file_lines(internal[:_MAX_NEIGHBOURS])):
            remaining = len(internal) - _MAX_NEIGHBOURS
            yield f"  {label} {places}{f'; {remaining} more' if remaining > 0 else ''}"
