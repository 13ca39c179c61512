"""Review of a change as Markdown for a pull request.

Everything from the repository is a code span: names cannot mention people, link, or close tickets.
"""

from collections.abc import Iterator, Sequence

from coderag.answering.hidden_text import reveal_hidden
from coderag.interfaces.change_report import ReportLine, ReportSection, build_sections, format_title
from coderag.schema.change_review import ChangeReview
from coderag.text.code_fences import format_code_span, make_fence

_OPEN_TITLES = ("Changed declarations", "Usually changes with it, and did not", "Limits")
"""Sections that are not folded."""


def format_markdown(review: ChangeReview) -> str:
    """Format a review as Markdown with folded sections."""
    lines = ["## Change and what it touches", "", f"{_format_span(format_title(review))}"]
    for section in build_sections(review):
        lines += ["", *_format_section(section)]
    return "\n".join(lines) + "\n"


def _format_section(section: ReportSection) -> Iterator[str]:
    is_open = section.title.startswith(_OPEN_TITLES)
    yield f"### {section.title}" if is_open else f"<details><summary>{section.title}</summary>"
    yield ""
    if section.is_script:
        script = "\n".join(_clean(line.name) for line in section.lines)
        fence = make_fence(script)
        yield from (f"{fence}sh", script, fence)
    else:
        yield from _format_lines(section.lines, 0)
    if section.n_left_out:
        yield f"- and {section.n_left_out:,} more"
    if not is_open:
        yield from ("", "</details>")


def _format_lines(lines: Sequence[ReportLine], depth: int) -> Iterator[str]:
    for line in lines:
        spans = [_format_span(part) for part in (line.name, line.place, line.code) if part]
        yield f"{'  ' * depth}- {' '.join(filter(None, [_format_text(line.text), *spans]))}"
        yield from _format_lines(line.children, depth + 1)


def _format_text(text: str) -> str:
    """Return our words; names in them, as in reasons, cannot be read as Markdown."""
    return "".join(f"\\{char}" if char in "\\`*_{}[]<>#@|~" else char for char in _clean(text))


def _format_span(text: str) -> str:
    return format_code_span(_clean(text))


def _clean(text: str) -> str:
    return " ".join(reveal_hidden(text)[0].split())
