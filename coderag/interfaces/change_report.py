"""Report of a review of a change as sections of lines, for terminals, Markdown and agents."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from coderag.schema.change_review import (
    ChangeReview,
    Dependent,
    NamingLine,
    ReviewedDeclaration,
    ReviewedFile,
)
from coderag.schema.mentions import NameMention

DEFAULT_MAX_LINES: Final = 20
"""Listed lines of a section."""

_MAX_CHILDREN: Final = 8
_MAX_CODE_CHARS: Final = 120
_SHORT_DIGITS: Final = 12
_CHANGE_TEXTS: Final = {
    "added": "added",
    "removed": "removed",
    "signature": "signature changed",
    "body": "body changed",
}


@dataclass(frozen=True, slots=True)
class ReportLine:
    """A line of a report.

    Attributes:
        text: Our words.
        name: Name, path or command from the repository.
        place: Place as ``path:line``.
        code: Line of code or prose from the repository.
        children: Lines below it.
    """

    text: str = ""
    name: str = ""
    place: str = ""
    code: str = ""
    children: "Sequence[ReportLine]" = ()


@dataclass(frozen=True, slots=True)
class ReportSection:
    """A section of a report.

    Attributes:
        title: Heading.
        lines: First lines.
        n_left_out: Number of further ones.
        is_script: Whether the lines are commands.
    """

    title: str
    lines: Sequence[ReportLine] = field(default_factory=list)
    n_left_out: int = 0
    is_script: bool = False


def format_title(review: ChangeReview) -> str:
    """Format the compared sides and the size of the change as one line."""
    base, target = (side[:_SHORT_DIGITS] if _is_commit(side) else side for side in (review.base, review.target))
    counts = f"{_count(len(review.files), 'file')}, {_count(len(review.declarations), 'declaration')}"
    return f"{base or 'nothing'} to {target}: {counts} changed"


def build_sections(review: ChangeReview, max_lines: int = DEFAULT_MAX_LINES) -> list[ReportSection]:
    """Build the sections of a report; empty ones are left out.

    Args:
        review: The review.
        max_lines: Maximum number of lines of a section.
    """
    history, tests = review.history, review.tests
    sections = [
        _cut("Changed declarations", map(_format_declaration, review.declarations), max_lines),
        _cut("Changed files", map(_format_file, review.files), max_lines),
        ReportSection(
            f"Tests to run ({tests.n_selected:,} of {tests.n_known:,})",
            [
                ReportLine(f"{test.score:.2f} {'; '.join(test.reasons[:2])}", name=test.selector)
                for test in tests.tests[:max_lines]
            ],
            tests.n_selected - len(tests.tests[:max_lines]),
        ),
        ReportSection("Commands", [ReportLine(name=command) for command in tests.commands], is_script=True),
        _cut("Documents that name it", map(_format_naming_line, review.documents), max_lines),
        _cut("Settings that name it", map(_format_naming_line, review.settings), max_lines),
        _cut("Usually changes with it, and did not", _list_missing(review), max_lines),
        _cut(
            "Tickets",
            (ReportLine(f"in {', '.join(ticket.commits[:3])}", ticket.reference) for ticket in history.tickets),
            max_lines,
        ),
        _cut(
            "Earlier commits of these lines",
            (
                ReportLine(
                    f"{commit.id} {commit.date}{f' {commit.author}' if commit.author else ''}", code=commit.subject
                )
                for commit in history.commits
            ),
            max_lines,
        ),
        _cut(
            "Who knows it",
            (
                ReportLine(
                    f"{_count(person.lines, 'line')}, {_count(person.commits, 'commit')}, last {person.last_date}",
                    person.name,
                )
                for person in history.people
            ),
            max_lines,
        ),
        _cut("Limits", (ReportLine(note) for note in (*review.notes, *history.notes)), max_lines),
    ]
    return [section for section in sections if section.lines]


def _cut(title: str, lines: Iterator[ReportLine], max_lines: int) -> ReportSection:
    listed = list(lines)
    return ReportSection(title, listed[:max_lines], max(len(listed) - max_lines, 0))


def _format_declaration(declaration: ReviewedDeclaration) -> ReportLine:
    change = declaration.change
    return ReportLine(
        f"{_CHANGE_TEXTS[change.change]}: {change.kind}",
        change.qualified_name,
        f"{change.path}:{declaration.line}",
        children=[*_list_details(declaration)],
    )


def _list_details(declaration: ReviewedDeclaration) -> Iterator[ReportLine]:
    """Yield the signatures, the dependents and the mentions of a declaration."""
    change = declaration.change
    if change.change == "signature":
        yield ReportLine("was", code=_shorten(change.old_signature))
        yield ReportLine("is", code=_shorten(change.new_signature))
    if declaration.match == "moved":
        yield ReportLine("in the index at", place=f"{declaration.indexed_path}:{declaration.indexed_line}")
    for dependent in declaration.dependents[:_MAX_CHILDREN]:
        yield _format_dependent(dependent)
    if (left_out := declaration.n_dependents - len(declaration.dependents[:_MAX_CHILDREN])) > 0:
        yield ReportLine(f"and {left_out:,} more dependents")
    for mention in declaration.mentions[:_MAX_CHILDREN]:
        yield _format_mention(mention)
    if (left_out := declaration.n_mentions - len(declaration.mentions[:_MAX_CHILDREN])) > 0:
        yield ReportLine(f"and {left_out:,} more lines that name it")
    if declaration.reason:
        yield ReportLine(f"note: {declaration.reason}")


def _format_dependent(dependent: Dependent) -> ReportLine:
    neighbour = dependent.neighbour
    certainty = "" if dependent.is_resolved else "candidate "
    changed = ", changed here, too" if dependent.is_changed else ""
    return ReportLine(
        f"{certainty}{neighbour.relation.replace('_', ' ')} ({neighbour.resolver} {neighbour.confidence:.2f}){changed}",
        neighbour.qualified_name,
        f"{neighbour.evidence or neighbour.path}:{neighbour.line}",
    )


def _format_mention(mention: NameMention) -> ReportLine:
    return ReportLine("named, no known edge", place=f"{mention.path}:{mention.line}", code=_shorten(mention.text))


def _format_file(file: ReviewedFile) -> ReportLine:
    counts = f" +{file.added_lines} -{file.removed_lines}" if file.added_lines or file.removed_lines else ""
    note = f" ({file.note})" if file.note else ""
    children = [ReportLine("was", file.old_path)] if file.status == "renamed" else []
    status = "mode changed" if file.status == "mode" else file.status
    return ReportLine(f"{status}{counts}{note}", file.path, children=children)


def _format_naming_line(line: NamingLine) -> ReportLine:
    return ReportLine("", line.name, f"{line.path}:{line.line}", _shorten(line.text))


def _list_missing(review: ChangeReview) -> Iterator[ReportLine]:
    for missing in review.history.missing:
        name = f"{missing.path} {missing.qualified_name}".strip()
        yield ReportLine(
            f"in {missing.together:,} of {_count(missing.subject_commits, 'commit')} of {missing.subject}", name
        )


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MAX_CODE_CHARS else f"{line[:_MAX_CODE_CHARS].rstrip()} …"


def _is_commit(side: str) -> bool:
    return len(side) >= 40 and " " not in side  # digits of SHA-1


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
