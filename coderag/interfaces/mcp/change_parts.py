"""Review of a change as parts of a reply."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from coderag.interfaces.change_report import ReportLine, build_sections
from coderag.interfaces.mcp.cleaner import Cleaner
from coderag.interfaces.mcp.replies import ReplyPart
from coderag.schema.change_review import ChangeReview
from coderag.text.code_fences import format_code_span

_MAX_LINES: Final = 15
_KEYS: Final = {"Changed declarations": "declarations", "Changed files": "files", "Commands": "commands"}
"""Keys of the sections in the data; the others share one."""

_TESTS_TITLE: Final = "Tests to run"


def build_change_parts(review: ChangeReview, cleaner: Cleaner) -> list[ReplyPart]:
    """Build a part for each line of the report, those that decide first."""
    return [
        ReplyPart(
            "\n".join(_format_line(line, cleaner, 0)),
            [_build_record(line, section.title, cleaner)],
            key="tests" if section.title.startswith(_TESTS_TITLE) else _KEYS.get(section.title, "lines"),
            title=section.title,
            has_lines=bool(line.code),
        )
        for section in build_sections(review, _MAX_LINES)
        for line in section.lines
    ]


def format_change(review: ChangeReview, cleaner: Cleaner) -> Iterator[str]:
    """Yield the report of a review line by line, each section below its heading."""
    for section in build_sections(review, _MAX_LINES):
        yield f"\n## {section.title}"
        for line in section.lines:
            yield from _format_line(line, cleaner, 0)
        if section.n_left_out:
            yield f"- and {section.n_left_out:,} more"


def _format_line(line: ReportLine, cleaner: Cleaner, depth: int) -> Sequence[str]:
    spans = [format_code_span(cleaner.clean_line(part)) for part in (line.name, line.code) if part]
    parts = [cleaner.clean_line(line.place), cleaner.clean_line(line.text), *spans]
    formatted = [f"{'  ' * depth}- {' '.join(filter(None, parts))}"]
    for child in line.children:
        formatted += _format_line(child, cleaner, depth + 1)
    return formatted


def _build_record(line: ReportLine, title: str, cleaner: Cleaner) -> dict[str, Any]:
    fields = {"name": line.name, "place": line.place, "text": line.text, "code": line.code}
    record: dict[str, Any] = {key: cleaner.clean_line(value) for key, value in fields.items() if value}
    if title not in _KEYS and not title.startswith(_TESTS_TITLE):
        record["section"] = title
    if line.children:
        record["details"] = [_build_record(child, _TESTS_TITLE, cleaner) for child in line.children]
    return record
