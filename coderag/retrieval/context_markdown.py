"""Write an assembled context as Markdown."""

from typing import Final

from coderag.retrieval.context_parts import ContextParts, one_line, relation_phrase
from coderag.schema.context import ContextItem
from coderag.text.code_fences import fence_for

_TITLES: Final = {"primary": "Results", "related": "Related code", "graph": "How they relate"}


class MarkdownWriter:
    """Sections with a heading each; an item is a heading with its place, and its code in a fence that it cannot close."""

    def item(self, item: ContextItem) -> str:
        """Return one item: a line of the map, one line on a piece of code, or its code."""
        if not item.path:
            return f"- {item.text}\n"
        place = f"{one_line(item.path)}:{item.start_line}-{item.end_line}"
        relation = f" · {relation_phrase(item)} `{one_line(item.related_to)}`" if item.relation else ""
        title = one_line(item.title)
        if item.detail == "line":
            told = f": {one_line(item.text)}" if item.text.strip() else ""
            return f"- {title} — {place}{relation}{told}\n\n"
        fence = fence_for(item.text)
        return f"### {title} — {place}{relation}\n\n{fence}{item.language}\n{item.text}\n{fence}\n\n"

    def write(self, parts: ContextParts) -> list[str]:
        """Return the whole text, in parts."""
        told = [f"# Context: {parts.question}\n\n"]
        if parts.note:
            told.append(f"*{parts.note}*\n\n")
        for section in parts.sections:
            told += [f"## {_TITLES[section.name]}\n\n", *map(self.item, section.items)]
        return [*told, *_not_shown(parts)]


def _not_shown(parts: ContextParts) -> list[str]:
    told = []
    if parts.omitted:
        told.append("## Left out\n\n")
        told += [
            f"- `{omission.fetch}` — {one_line(omission.title)}, {omission.tokens} tokens\n"
            for omission in parts.omitted
        ]
        told += [f"- and {parts.more_omitted} more\n"] if parts.more_omitted else []
    if parts.before:
        more = f" and {parts.more_before} more" if parts.more_before else ""
        told.append(f"Shown before: {', '.join(map(one_line, parts.before))}{more}\n")
    return told
