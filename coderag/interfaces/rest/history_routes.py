"""Routes for the history of code: commits of a path, lines or declaration, blame, authors, co-change."""

from functools import partial
from typing import TYPE_CHECKING

from fastapi import APIRouter, Response

from coderag.errors import InvalidQueryError
from coderag.interfaces.rest.browse_bodies import EndLineParameter, FileParameter, StartLineParameter
from coderag.interfaces.rest.history_bodies import (
    MAX_BLAMED_LINES,
    AuthorsReply,
    BlameReply,
    ChangeLimitParameter,
    CoChangesReply,
    CommitLimitParameter,
    CommitReply,
    HistoryReply,
    RevisionParameter,
    SinceParameter,
    SubjectParameter,
    UntilParameter,
)
from coderag.interfaces.rest.parameters import RootParameter
from coderag.interfaces.rest.request_runner import RunnerDependency
from coderag.interfaces.rest.strict_route import StrictRoute

if TYPE_CHECKING:
    from coderag.app import CodeRAG

router = APIRouter(route_class=StrictRoute, tags=["history"], prefix="/history")


@router.get("", response_model=HistoryReply, summary="List the commits of a path or declaration")
async def history(
    runner: RunnerDependency,
    root: RootParameter,
    subject: SubjectParameter = "",
    since: SinceParameter = "",
    until: UntilParameter = "",
    limit: CommitLimitParameter = 50,
) -> Response:
    """Return the commits that changed a file, a folder, lines or a declaration, newest first, through renames."""
    return await runner.reply_from_engine(
        root, partial(_list_commits, subject=subject, since=since, until=until, limit=limit), is_long=True
    )


@router.get("/blame", response_model=BlameReply, summary="Find the commits that introduced lines")
async def history_blame(
    runner: RunnerDependency,
    root: RootParameter,
    path: FileParameter,
    start_line: StartLineParameter = 1,
    end_line: EndLineParameter = None,
) -> Response:
    """Return the authorship of lines of a file as it is on disk, 5,000 lines at most; `next_line` begins the next part."""
    return await runner.reply_from_engine(
        root, partial(_blame, path=path, start_line=start_line, end_line=end_line), is_long=True
    )


@router.get("/authors", response_model=AuthorsReply, summary="List the authors of a path or declaration")
async def history_authors(
    runner: RunnerDependency, root: RootParameter, subject: SubjectParameter, limit: ChangeLimitParameter = 20
) -> Response:
    """Return who knows a file, a folder, lines or a declaration: by the lines that are theirs, and by their commits."""
    return await runner.reply_from_engine(root, partial(_list_authors, subject=subject, limit=limit), is_long=True)


@router.get("/co-changes", response_model=CoChangesReply, summary="List what changes together with something")
async def history_co_changes(
    runner: RunnerDependency,
    root: RootParameter,
    subject: SubjectParameter,
    since: SinceParameter = "",
    until: UntilParameter = "",
    limit: ChangeLimitParameter = 20,
) -> Response:
    """Return the files, or declarations, that changed in the same commits as a file, or declaration."""
    return await runner.reply_from_engine(
        root, partial(_list_co_changes, subject=subject, since=since, until=until, limit=limit), is_long=True
    )


@router.get("/commit", response_model=CommitReply, summary="Get a commit")
async def history_commit(runner: RunnerDependency, root: RootParameter, revision: RevisionParameter) -> Response:
    """Return a commit with the files and declarations that it changed."""
    return await runner.reply_from_engine(
        root, lambda engine: CommitReply.build(engine.place, engine.history.get_commit(revision)), is_long=True
    )


def _list_commits(engine: "CodeRAG", *, subject: str, since: str, until: str, limit: int) -> HistoryReply:
    place = engine.find_history_subject(subject or ".")
    listed = engine.history.list_subject_commits(place, since=since, until=until, limit=limit)
    return HistoryReply.build(engine.place, place, listed)


def _blame(engine: "CodeRAG", *, path: str, start_line: int, end_line: int | None) -> BlameReply:
    total_lines = engine.open_browser().view_file(path, start_line=1, end_line=1).total_lines
    if start_line > total_lines:
        raise InvalidQueryError(f"{path} has {total_lines:,} lines, none of them from {start_line:,} on")
    last = min(end_line or total_lines, total_lines, start_line + MAX_BLAMED_LINES - 1)
    return BlameReply.build(engine.place, engine.history.blame(path, start_line, last), last, total_lines)


def _list_authors(engine: "CodeRAG", *, subject: str, limit: int) -> AuthorsReply:
    place = engine.find_history_subject(subject or ".")
    authors = engine.history.find_authors(place.path, place.start_line, place.end_line)
    return AuthorsReply.build(engine.place, place, authors, limit)


def _list_co_changes(engine: "CodeRAG", *, subject: str, since: str, until: str, limit: int) -> CoChangesReply:
    place = engine.find_history_subject(subject)
    changes = engine.history.find_co_changes(place.path, place.qualified_name, since=since, until=until, limit=limit)
    return CoChangesReply.build(engine.place, place, changes)
