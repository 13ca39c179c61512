"""Items as Markdown: title, fields, body, comments and status history under headings of their own."""

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Final

from coderag.schema.items import Item
from coderag.stores.disk import to_utf8

_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufeff]")
_LINE_ENDS: Final = re.compile(r"\r\n?|\x85|\u2028|\u2029")
_FENCE: Final = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_HEADING: Final = re.compile(r" {0,3}(#{1,6})(?=[ \t]|$)")
_UNDERLINE: Final = re.compile(r" {0,3}(=+|-+)[ \t]*")
_MAX_LEVEL: Final = 6
_BLOCK_START: Final = re.compile(r" {0,3}(?:[#>|]|[-*+][ \t]|\d+[.)][ \t]|$)| {4}|\t")
"""Lines that no line of hyphens below makes a heading."""


def render_item(source: str, item: Item) -> str:
    """Render an item as Markdown without control characters; its body's headings stand below the title."""
    title = flatten_line(item.title) or flatten_line(item.id)
    parts = [f"# {title}", "\n".join(f"- {name}: {value}" for name, value in _list_fields(source, item))]
    if body := lower_headings(_drop_title(clean_text(item.text), title)).strip("\n"):
        parts.append(body)
    if item.comments:
        parts.append("## Comments")
        for comment in item.comments:
            heading = ", ".join(filter(None, (flatten_line(comment.author), format_time(comment.created))))
            parts.append(f"### {heading or 'Comment'}")
            if text := lower_headings(clean_text(comment.text), levels=3).strip("\n"):
                parts.append(text)
    if item.status_changes:
        lines = []
        for change in item.status_changes:
            before, after, author = map(flatten_line, (change.before, change.after, change.author))
            time = f"{format_time(change.changed)}: " if change.changed else ""
            lines.append(f"- {time}{before or '(none)'} to {after or '(none)'}{f', by {author}' if author else ''}")
        parts += ["## Status history", "\n".join(lines)]
    return "\n\n".join(parts) + "\n"


def _drop_title(text: str, title: str) -> str:
    """Drop a first heading that repeats the title."""
    first, _, rest = text.lstrip("\n").partition("\n")
    heading = _HEADING.match(first)
    return rest if heading and flatten_line(first[heading.end() :].rstrip(" \t#")) == title.rstrip(" \t#") else text


def clean_text(text: str) -> str:
    """Return a text with line feeds as its only control characters besides tabs, and without lone surrogates."""
    return to_utf8(_CONTROLS.sub("", _LINE_ENDS.sub("\n", text)))


def flatten_line(text: str) -> str:
    """Return a text as one line."""
    return " ".join(clean_text(text).split())


def format_time(time: datetime | None) -> str:
    """Format a time to the minute, in UTC; empty without one."""
    if time is None:
        return ""
    return f"{(time.astimezone(UTC) if time.tzinfo else time):%Y-%m-%d %H:%M}"


def lower_headings(text: str, levels: int = 1) -> str:
    """Move the headings of a text below those around it, and close a code fence that it leaves open.

    Args:
        text: Markdown.
        levels: How many levels stand above; headings move as far as the highest one needs, and by none if it does not.
    """
    lines = text.split("\n")
    headings, open_fence = _find_headings(lines)
    if shift := max(0, levels + 1 - min((level for _, level, _ in headings), default=_MAX_LEVEL)):
        for number, level, is_underlined in reversed(headings):
            new_level = min(level + shift, _MAX_LEVEL)
            if is_underlined:
                lines[number : number + 2] = [f"{'#' * new_level} {lines[number].strip()}"]
            else:
                lines[number] = "#" * new_level + lines[number].lstrip(" ")[level:]
    if open_fence:
        lines.append(open_fence)
    return "\n".join(lines)


def _find_headings(lines: list[str]) -> tuple[list[tuple[int, int, bool]], str]:
    """Return line, level and whether it is underlined of each heading; and the fence that is open at the end."""
    headings: list[tuple[int, int, bool]] = []
    fence = ""
    is_paragraph = False  # whether the line before may be the text of an underlined heading of one line
    previous_start = -2
    for number, line in enumerate(lines):
        marks = _FENCE.match(line)
        if fence:
            if marks and marks[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
            is_paragraph = False
        elif marks:
            fence, is_paragraph = marks[1], False
        elif heading := _HEADING.match(line):
            headings.append((number, len(heading[1]), False))
            is_paragraph = False
        elif is_paragraph and previous_start == number - 1 and (underline := _UNDERLINE.fullmatch(line)):
            headings.append((number - 1, 1 if underline[1][0] == "=" else 2, True))
            is_paragraph = False
        else:
            is_text = not _BLOCK_START.match(line)
            previous_start = number if is_text and not is_paragraph else previous_start
            is_paragraph = is_text
    return headings, fence


def _list_fields(source: str, item: Item) -> Iterator[tuple[str, str]]:
    fields: Iterable[tuple[str, str]] = (
        ("Source", f"{source}, {item.kind}"),
        ("Id", item.id),
        ("URL", item.url),
        ("Type", item.type),
        ("Status", item.status),
        ("Labels", ", ".join(item.labels)),
        *((role.replace("_", " ").capitalize(), ", ".join(names)) for role, names in sorted(item.people.items())),
        *sorted(item.fields.items()),
        ("Created", format_time(item.created)),
        ("Modified", format_time(item.modified)),
        *(("Link", f"{link.relation} {link.target}") for link in item.links),
    )
    for name, value in fields:
        if flat := flatten_line(value):
            yield flatten_line(name), flat
