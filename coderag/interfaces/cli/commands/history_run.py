"""Answers of ``coderag history``, as text or JSON."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypedDict

from coderag.errors import InvalidQueryError
from coderag.interfaces.cli.commands.history_lines import (
    HistoryLine,
    format_author,
    format_blame,
    format_change,
    format_co_change,
    format_commit,
    format_coverage,
    format_introduction,
    format_match,
    format_ticket,
    print_lines,
)
from coderag.interfaces.cli.indexed_engine import ask_indexed, open_local_engine
from coderag.interfaces.cli.output.streams import Output
from coderag.schema.lineage import MAX_CO_CHANGED_FILES

if TYPE_CHECKING:
    from coderag.app import CodeRAG
    from coderag.lineage.code_history import CodeHistory
    from coderag.schema.history_evidence import HistorySubject


@dataclass(frozen=True, slots=True)
class HistoryRequest:
    """Options of the command."""

    target: str
    since: str
    until: str
    limit: int
    who: bool
    with_: bool
    blame: bool
    read_all: bool
    text: str
    ticket: str
    commit: str
    search: str
    may_index: bool


class _Limits(TypedDict):
    since: str
    until: str
    limit: int


def run_history(request: HistoryRequest, repo: Path | None, output: Output) -> None:
    """Print what is asked of the history.

    Raises:
        InvalidQueryError: Options exclude one another, or a target is missing.
        CodeRAGError: From `coderag.lineage.code_history.CodeHistory`.
    """
    _check_request(request)
    rag = open_local_engine(repo, output)
    if request.read_all:
        _read_all(rag.history, output)
    elif request.commit:
        with output.show_status("reading the commit"):
            details = rag.history.get_commit(request.commit)
        _write(output, rag.root, details, format_commit(details), [details.note and f"incomplete: {details.note}"])
    elif request.ticket:
        with output.show_status("reading commits"):
            commits = rag.history.find_declarations_by_ticket(request.ticket)
        notes = ["" if commits else f"no commit references {request.ticket}"]
        if commits and not output.as_json:
            notes.append("links rest on the text of commit messages")
        lines = [line for details in commits[: request.limit] for line in format_ticket(details)]
        _write(output, rag.root, {"ticket": request.ticket, "commits": commits[: request.limit]}, lines, notes)
    elif request.search:
        with output.show_status("searching commits"):
            matches = rag.history.find_commits(
                request.search, since=request.since, until=request.until, limit=request.limit
            )
        notes = ["" if matches else "no commit has these words"]
        _write(
            output, rag.root, {"search": request.search, "commits": matches}, list(map(format_match, matches)), notes
        )
    else:
        _show_subject(rag, request, output)


def _check_request(request: HistoryRequest) -> None:
    modes = {
        "--who": request.who, "--with": request.with_, "--blame": request.blame, "--text": bool(request.text),
        "--ticket": bool(request.ticket), "--commit": bool(request.commit), "--search": bool(request.search),
        "--read-all": request.read_all,
    }  # fmt: skip
    chosen = [name for name, is_chosen in modes.items() if is_chosen]
    if len(chosen) > 1:
        raise InvalidQueryError(f"{' and '.join(chosen)} exclude one another", hint="Choose one.")
    needs_target = chosen and chosen[0] in ("--who", "--with", "--blame", "--text")
    if needs_target and not request.target:
        raise InvalidQueryError(
            f"{chosen[0]} needs a path or a name", hint=f"Add one: coderag history PATH {chosen[0]}"
        )
    if chosen and not needs_target and request.target:
        raise InvalidQueryError(f"{chosen[0]} takes no path or name: {request.target!r}", hint="Leave it out.")


class _Answer(NamedTuple):
    """An answer about a subject: for JSON, as lines, and its notes."""

    result: object
    lines: list[HistoryLine]
    notes: Sequence[str]


def _show_subject(rag: "CodeRAG", request: HistoryRequest, output: Output) -> None:
    subject = _find_subject(rag, request, output)
    with output.show_status("reading the history"):
        answer = _ask(rag.history, subject, request)
    _write(output, rag.root, answer.result, answer.lines, answer.notes, subject=subject)


def _ask(history: "CodeHistory", subject: "HistorySubject", request: HistoryRequest) -> _Answer:
    limits = _Limits(since=request.since, until=request.until, limit=request.limit)
    if request.who:
        authors = history.find_authors(subject.path, subject.start_line, subject.end_line)
        return _Answer(authors, [format_author(share) for share in authors.authors[: request.limit]], authors.notes)
    if request.with_:
        changes = history.find_co_changes(subject.path, subject.qualified_name, **limits)
        notes = [*changes.notes, f"{changes.commits:,} commits of {subject} count; co-change is no dependency"]
        if changes.left_out:
            notes.insert(
                0, f"commits of more than {MAX_CO_CHANGED_FILES} files that are left out: {changes.left_out:,}"
            )
        return _Answer(changes, [format_co_change(change) for change in changes.changes], notes)
    if request.blame:
        blame = history.blame(subject.path, subject.start_line or 1, subject.end_line)
        return _Answer(blame, [format_blame(entry) for entry in blame.lines], blame.notes)
    if request.text:
        result = history.find_introduction(subject.path, request.text)
        missing = "" if result.introductions else f"no commit changed how often {subject.path} has this text"
        lines = [format_introduction(entry) for entry in result.introductions[: request.limit]]
        return _Answer(result, lines, [missing, *result.notes])
    return _list_commits(history, subject, request, limits)


def _list_commits(
    history: "CodeHistory", subject: "HistorySubject", request: HistoryRequest, limits: _Limits
) -> _Answer:
    result = history.list_subject_commits(subject, **limits)
    notes = list(result.notes)
    if not result.changes and not any("not committed" in note for note in notes):
        notes.insert(0, f"no commits of {subject} in this range" if str(subject) else "no commits in this range")
    if result.is_limited:
        notes.append(f"there are more than {request.limit:,} commits (raise --limit)")
    return _Answer(result, [format_change(change, subject.path) for change in result.changes], notes)


def _find_subject(rag: "CodeRAG", request: HistoryRequest, output: Output) -> "HistorySubject":
    target = _resolve_typed_path(request.target, rag.root) if request.target else "."
    return ask_indexed(
        rag, lambda engine: engine.find_history_subject(target), output, may_index=request.may_index, activity=""
    )


def _resolve_typed_path(target: str, root: Path) -> str:
    """Return a path that was typed relative to a folder below the root relative to the root instead."""
    path, colon, lines = target.partition(":")
    here = Path.cwd().resolve()
    place = Path(os.path.normpath(here / path))
    if not place.exists() or not place.is_relative_to(root.resolve()):
        return target
    is_elsewhere = ".." in Path(path).parts or Path(path).is_absolute() or not (root / path).exists()
    return f"{place.relative_to(root.resolve()).as_posix()}{colon}{lines}" if is_elsewhere else target


def _read_all(history: "CodeHistory", output: Output) -> None:
    coverage = history.coverage()
    missing = coverage.commits - coverage.commits_with_declarations
    with output.show_status(f"reading the declarations of {missing:,} commits"):
        for _ in history.read_declarations() if coverage.state == "ready" else ():
            pass
        coverage = history.coverage()
    if output.as_json:
        output.write_json(coverage)
    else:
        output.write(format_coverage(coverage))
        for note in coverage.notes:
            output.note(note)


def _write(
    output: Output,
    root: Path,
    result: object,
    lines: Sequence[HistoryLine],
    notes: Sequence[str],
    *,
    subject: "HistorySubject | None" = None,
) -> None:
    if output.as_json:
        output.write_json(result, root=root, **({"subject": subject} if subject is not None else {}))
    else:
        print_lines(str(subject) if subject is not None else "", lines, output)
    for note in filter(None, notes):
        output.note(note)
