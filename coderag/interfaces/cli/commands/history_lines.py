"""Lines of ``coderag history``: aligned and coloured in a terminal, plain text in a pipe."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

from coderag.interfaces.cli.output.streams import Output, escape_controls, escape_line

if TYPE_CHECKING:
    from coderag.schema.lineage import (
        AuthorShare,
        CoChange,
        Commit,
        CommitDetails,
        CommitMatch,
        CommittedChange,
        DeclarationChange,
        FileChange,
        Hunk,
        LineageCoverage,
        LineAuthorship,
        TextIntroduction,
    )

_MAX_COLUMN_CHARS: Final = 48
_MAX_DECLARATIONS: Final = 40
_STYLES: Final = ("yellow", "dim", "cyan", "green", "")


@dataclass(frozen=True, slots=True)
class HistoryLine:
    """A line of output.

    Attributes:
        columns: Its parts; the last one is not aligned.
        below: Text below it, indented.
    """

    columns: tuple[str, ...]
    below: tuple[str, ...] = ()


def print_lines(title: str, lines: Sequence[HistoryLine], output: Output) -> None:
    """Print lines, with their title in a terminal only."""
    if not lines:
        return
    if not output.is_terminal:
        output.write("\n".join(_format_plain(lines)))
        return
    from rich.text import Text

    console = output.make_console()
    if title:
        console.print(Text(escape_line(title), "bold"), soft_wrap=True)
    widths: dict[tuple[int, int], int] = {}
    for line in lines:
        for index, column in enumerate(line.columns[:-1]):
            key = (len(line.columns), index)
            widths[key] = min(max(widths.get(key, 0), len(column)), _MAX_COLUMN_CHARS)
    for line in lines:
        text = Text()
        for index, column in enumerate(line.columns):
            is_last = index == len(line.columns) - 1
            width = 0 if is_last else widths[len(line.columns), index]
            style = "" if is_last else _STYLES[min(index, len(_STYLES) - 1)]
            text.append(escape_line(column).ljust(width) if width else escape_line(column), style)
            text.append("" if is_last else "  ")
        text.rstrip()
        console.print(text, soft_wrap=True)
        for row in line.below:
            console.print(Text(f"    {escape_controls(row)}", "dim"), soft_wrap=True)


def _format_plain(lines: Sequence[HistoryLine]) -> Iterator[str]:
    for line in lines:
        yield "  ".join(escape_line(column) for column in line.columns if column)
        yield from (f"    {escape_controls(row)}" for row in line.below)


def format_change(change: "CommittedChange", asked_path: str) -> HistoryLine:
    """Format a commit of a subject."""
    lines = f":{change.start_line}-{change.end_line}" if change.start_line else ""
    place = f"{change.path}{lines}" if lines or change.path != asked_path else ""
    counts = _count_lines(change.hunks)
    notes = (change.note,) if change.note else ()
    return HistoryLine((*_format_head(change.commit), place, counts, _format_subject(change.commit)), notes)


def format_match(match: "CommitMatch") -> HistoryLine:
    """Format a commit that a search returned."""
    return HistoryLine((*_format_head(match.commit), _format_subject(match.commit)))


def format_author(share: "AuthorShare") -> HistoryLine:
    """Format an author."""
    address = f"<{share.email}>" if share.email else ""
    commits = f"{share.commits:,} commit{'s' * (share.commits != 1)}"
    lines = f"{share.lines:,} line{'s' * (share.lines != 1)}"
    period = f"{share.first_time.date()} to {share.last_time.date()}"
    return HistoryLine((lines, commits, period, f"{share.author} {address}".strip()))


def format_co_change(change: "CoChange") -> HistoryLine:
    """Format a co-change."""
    share = f"{change.together:,} of {change.subject_commits:,} commits"
    own = f"{change.together / max(1, change.other_commits):.0%} of its {change.other_commits:,}"
    name = f"{change.qualified_name}  " if change.qualified_name else ""
    return HistoryLine((share, own, change.last_commit[:12], f"{name}{change.path}"))


def format_blame(entry: "LineAuthorship") -> HistoryLine:
    """Format the authorship of lines."""
    lines = str(entry.start_line)
    if entry.end_line > entry.start_line:
        lines += f"-{entry.end_line}"
    if entry.commit is None:
        return HistoryLine((lines, "", "", "", "not committed yet"))
    remarks = [
        *(["history ends here: shallow clone"] if entry.is_boundary else []),
        *(["an ignored revision, no older commit is known"] if entry.is_ignored_revision else []),
    ]
    commit = entry.commit
    head = _format_head(commit)
    return HistoryLine((lines, *head, f"{_format_subject(commit)}  {entry.path}:{entry.original_line}"), tuple(remarks))


def format_introduction(introduction: "TextIntroduction") -> HistoryLine:
    """Format a commit that added or removed a text."""
    verb = "added" if introduction.after > introduction.before else "removed"
    if not introduction.before:
        verb = "introduced"
    lines = f"line {', '.join(map(str, introduction.lines))} now" if introduction.lines else ""
    commit = introduction.commit
    return HistoryLine((*_format_head(commit), verb, lines, _format_subject(commit)))


def format_ticket(details: "CommitDetails") -> list[HistoryLine]:
    """Format a commit that references a ticket, with the declarations that it changed."""
    below = [details.link, *_list_changes(details)]
    return [HistoryLine((*_format_head(details.commit), _format_subject(details.commit)), tuple(filter(None, below)))]


def format_commit(details: "CommitDetails") -> list[HistoryLine]:
    """Format a commit with its message, files and declarations."""
    commit = details.commit
    address = f" <{commit.email}>" if commit.email else ""
    references = ", ".join(
        f"{reference.text} ({' '.join(filter(None, (reference.kind.replace('_', ' '), reference.relation)))})"
        for reference in commit.references
    )
    message = [commit.subject, *(["", *commit.body.split("\n")] if commit.body else [])]
    parents = " ".join(parent[:12] for parent in commit.parents) or ("unknown" if commit.is_boundary else "none")
    fields = [
        ("commit", commit.id),
        ("author", f"{commit.author}{address}"),
        ("date", _format_time(commit.time)),
        ("parents", parents),
        ("references", references),
        ("encoding", commit.encoding_note),
    ]
    lines = [HistoryLine((name, value)) for name, value in fields if value]
    lines.append(HistoryLine(("message",), tuple(message)))
    lines.append(HistoryLine((f"files ({len(details.files):,})",), tuple(map(_format_file, details.files))))
    declarations = details.declarations or ()
    if declarations:
        lines.append(HistoryLine((f"declarations ({len(declarations):,})",), tuple(_list_changes(details))))
    return lines


def format_coverage(coverage: "LineageCoverage") -> str:
    """Format what is known of a history."""
    if coverage.state != "ready":
        return f"no history: {coverage.state.replace('_', ' ')}"
    read, commits = coverage.commits_with_declarations, coverage.commits
    return f"declarations of {read:,} of {commits:,} commits read, {coverage.bytes_on_disk / 1e6:.1f} MB on disk"


def _format_head(commit: "Commit") -> tuple[str, str, str]:
    return commit.short_id, str(commit.time.date()), commit.author


def _format_subject(commit: "Commit") -> str:
    references = [reference.text for reference in commit.references if reference.text not in commit.subject]
    return f"{commit.subject}  [{', '.join(references)}]" if references else commit.subject


def _format_time(time: datetime) -> str:
    return time.isoformat(" ", "minutes")


def _count_lines(hunks: "Sequence[Hunk]") -> str:
    added, removed = sum(hunk.new_count for hunk in hunks), sum(hunk.old_count for hunk in hunks)
    return f"+{added} -{removed}" if hunks else ""


def _format_file(change: "FileChange") -> str:
    renamed = f" from {change.old_path}" if change.old_path != change.path else ""
    kinds = ["binary"] * bool(change.is_binary) + ["submodule"] * change.is_submodule
    remark = f" ({', '.join(kinds)})" if kinds else ""
    return f"{change.change} {change.path}{renamed}{remark}"


def _list_changes(details: "CommitDetails") -> list[str]:
    changes = list(map(_format_declaration, details.declarations or ()))
    more = len(changes) - _MAX_DECLARATIONS
    return [*changes[:_MAX_DECLARATIONS], f"and {more:,} more"] if more > 0 else changes


def _format_declaration(change: "DeclarationChange") -> str:
    line = change.new_start_line or change.old_start_line
    verb = {"signature": "changed signature of", "body": "changed"}.get(change.change, change.change)
    return f"{verb} {change.kind} {change.qualified_name}  {change.path}:{line}"
