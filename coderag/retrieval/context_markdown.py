"""Render an assembled context as Markdown."""

import re
from collections.abc import Sequence

from coderag.schema import ContextItem, ContextSection, Evidence, Omission

_TITLES = {"primary": "Results", "related": "Related code", "graph": "How they relate"}
_NOTES: dict[Evidence, str] = {
    "found": "",
    "weak": "\n\n*The evidence is weak: nothing in the index answers this closely.*",
    "not_found": "\n\n*Nothing in the index answers this.*",
}
_LONGEST_QUESTION = 160  # bytes; a token has at least one, so the heading fits into the smallest budget
_BACKTICKS = re.compile(r"`{3,}")


def context_head(query: str, evidence: Evidence) -> str:
    """Return the heading, with a note where the evidence is not good."""
    first_line = (
        query.strip().split("\n", 1)[0].encode("utf-8", "replace")[:_LONGEST_QUESTION].decode("utf-8", "ignore")
    )
    return f"# Context: {first_line}{_NOTES[evidence]}\n"


def section_title(name: str) -> str:
    """Return the heading of a section."""
    return f"\n## {_TITLES[name]}\n"


def render_item(item: ContextItem) -> str:
    """Return one item: a line of the map, one line on a chunk, or its code in a fence that it cannot close."""
    if not item.path:
        return f"- {item.text}\n"
    place = f"{item.path}:{item.start_line}-{item.end_line}"
    relation = f" · {item.relation.replace('_', ' ')} of `{item.related_to}`" if item.relation else ""
    if item.detail == "line":
        return f"\n- {item.title} — {place}{relation}: {item.text}\n"
    fence = "`" * max([3, *(len(run) + 1 for run in _BACKTICKS.findall(item.text))])
    return f"\n### {item.title} — {place}{relation}\n\n{fence}{item.language}\n{item.text}\n{fence}\n"


def render_context(head: str, sections: Sequence[ContextSection], omitted: Sequence[Omission], listed: int) -> str:
    """Return the whole text; of what was left out, the first `listed` pieces are named."""
    parts = [head]
    for section in sections:
        parts.append(section_title(section.name))
        parts.extend(render_item(item) for item in section.items)
    if listed:
        parts.append("\n## Left out\n\n")
        parts.extend(
            f"- `{omission.title}` — {omission.path}:{omission.start_line}-{omission.end_line}"
            f" ({omission.tokens} tokens): `{omission.fetch}`\n"
            for omission in omitted[:listed]
        )
        if len(omitted) > listed:
            parts.append(f"- and {len(omitted) - listed} more\n")
    return "".join(parts)
