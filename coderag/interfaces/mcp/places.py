"""Places of several declarations in few lines: one line a file, with names and line ranges."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from coderag.interfaces.mcp.cleaner import Cleaner
from coderag.schema.graph import GraphDeclaration, GraphNeighbour

_MAX_NAMES_PER_LINE: Final = 12


def format_range(start_line: int, end_line: int) -> str:
    """Format a range of lines."""
    return f"{start_line}" if start_line == end_line else f"{start_line}-{end_line}"


def format_record_place(record: Mapping[str, Any]) -> str:
    """Format the place of a record, with its repository if it has one."""
    path = f"{record['repository']}/{record['path']}" if "repository" in record else record["path"]
    return f"{path}:{format_range(record['start_line'], record['end_line'])}"


def to_place_record(place: GraphNeighbour | GraphDeclaration, cleaner: Cleaner) -> dict[str, Any]:
    """Convert a declaration to a record with clean texts."""
    return {
        "path": cleaner.clean_line(place.path),
        "start_line": place.start_line,
        "end_line": place.end_line,
        "name": cleaner.clean_line(place.qualified_name),
        "kind": place.kind,
    }


def format_file_lines(
    records: Iterable[Mapping[str, Any]], notes: Mapping[int, str] | None = None
) -> Iterator[tuple[str, Sequence[Mapping[str, Any]]]]:
    """Yield lines such as ``path: name 10-20, name 30`` with their records, files in the order of their first record.

    Args:
        records: With clean ``path``, ``start_line``, ``end_line`` and ``name``, and perhaps ``repository``.
        notes: Text in parentheses after a record, by its ``id()``.
    """
    by_file: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for record in records:
        by_file.setdefault((record.get("repository", ""), record["path"]), []).append(record)
    for (repository, path), entries in by_file.items():
        place = "/".join(filter(None, (repository, path)))
        for first in range(0, len(entries), _MAX_NAMES_PER_LINE):
            line = entries[first : first + _MAX_NAMES_PER_LINE]
            names = ", ".join(_format_name(record, (notes or {}).get(id(record), "")) for record in line)
            yield f"{place}: {names}" if place else names, line


def _format_name(record: Mapping[str, Any], note: str) -> str:
    is_file = record["name"] == record["path"]
    lines = format_range(record["start_line"], record["end_line"]) if record["end_line"] else ""
    return " ".join(filter(None, ("" if is_file else record["name"], lines, f"({note})" if note else "")))
