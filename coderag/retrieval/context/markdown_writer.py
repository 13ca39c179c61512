"""Context as Markdown."""

from typing import Final

from coderag.retrieval.context.parts import ContextParts, format_relation, to_single_line
from coderag.schema.context import ContextItem
from coderag.text.code_fences import format_code_span, make_fence

_SECTION_TITLES: Final = {
    "items": "Pages and tickets",
    "primary": "Results",
    "related": "Related code",
    "graph": "How they relate",
}


class MarkdownContextWriter:
    """Writer of headings and of code in fences that source cannot close."""

    def format_item(self, item: ContextItem) -> str:
        """Format one item: a line of the relation map, a line on a snippet, or code."""
        if not item.path:
            return f"- {item.text}\n"
        location = f"{to_single_line(item.path)}:{item.start_line}-{item.end_line}"
        relation = f" · {format_relation(item)} `{to_single_line(item.related_to)}`" if item.relation else ""
        title = to_single_line(item.title)
        origin = f"\n\n{format_code_span(to_single_line(item.url))}" if item.url else ""
        if not item.is_block:
            text = f": {format_code_span(to_single_line(item.text))}" if item.text.strip() else ""
            return f"- {title} — {location}{relation}{text}\n"
        fence = make_fence(item.text)
        return f"### {title} — {location}{relation}{origin}\n\n{fence}{item.language}\n{item.text}\n{fence}\n\n"

    def write(self, parts: ContextParts) -> list[str]:
        """Write the context, in parts."""
        lines = [f"# Context: {parts.question}\n\n"]
        if parts.note:
            lines.append(f"*{parts.note}*\n\n")
        for section in parts.sections:
            lines += [f"## {_SECTION_TITLES[section.name]}\n\n", *map(self.format_item, section.items)]
            if not lines[-1].endswith("\n\n"):
                lines[-1] += "\n"  # a blank line before the next heading
        return [*lines, *_format_not_shown(parts)]


def _format_not_shown(parts: ContextParts) -> list[str]:
    lines = []
    if parts.omitted:
        lines.append("## Left out\n\n")
        lines += [
            f"- `{omission.fetch}` — {to_single_line(omission.title)}, {omission.tokens} tokens\n"
            for omission in parts.omitted
        ]
        lines += [f"- and {parts.unlisted_omitted} more\n"] if parts.unlisted_omitted else []
    if parts.shown_before:
        more = f" and {parts.unlisted_before} more" if parts.unlisted_before else ""
        lines.append(f"Shown before: {', '.join(map(to_single_line, parts.shown_before))}{more}\n")
    return lines
