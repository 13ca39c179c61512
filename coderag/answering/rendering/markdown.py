"""Renderer of an extractive answer in Markdown."""

from collections.abc import Iterator, Sequence
from typing import Final

from coderag.answering.extractive.excerpts import list_shown_lines
from coderag.answering.extractive.sections import DraftSection, DraftStatement, Excerpt
from coderag.answering.rendering.checked_lines import CheckedLines
from coderag.text.code_fences import make_fence

_INDENT: Final = "  "


def render_markdown(sections: Sequence[DraftSection], checked: CheckedLines) -> str:
    """Render the sections of an answer, with the places where their lines are now."""
    blocks = ["\n".join(_render_section(section, checked)) for section in sections]
    return "\n\n".join(block for block in blocks if block.strip()).strip() + "\n"


def render_text(statement: DraftStatement, checked: CheckedLines) -> str:
    """Render the text of a statement as inline Markdown; the place of code that is shown below it ends the text."""
    text = "".join(part if isinstance(part, str) else checked.format_place(part) for part in statement.parts)
    excerpt = statement.excerpt
    is_placed = excerpt is None or excerpt.lines in statement.parts
    return text if is_placed or excerpt is None else f"{text} — {checked.format_place(excerpt.lines)}"


def _render_section(section: DraftSection, checked: CheckedLines) -> Iterator[str]:
    if section.title:
        yield from (f"**{section.title}**", "")
    for number, statement in enumerate(section.statements, 1):
        marker = "" if section.style == "text" else f"{number}. " if section.style == "steps" else "- "
        indent = _INDENT * statement.level if marker else ""
        yield f"{indent}{marker}{render_text(statement, checked)}"
        if statement.excerpt:
            yield ""
            yield from _render_excerpt(statement.excerpt, indent + " " * len(marker))
        is_last = number == len(section.statements)
        if not is_last and (section.style == "text" or statement.excerpt):
            yield ""


def _render_excerpt(excerpt: Excerpt, indent: str) -> Iterator[str]:
    lines = list_shown_lines(excerpt)
    fence = make_fence("\n".join(lines))
    for line in (f"{fence}{excerpt.language}", *lines, fence):
        yield f"{indent}{line}".rstrip()
