"""Routes for browsing a repository: its tree, files, chunks, and declarations between callers and callees."""

from collections.abc import Callable

from fastapi import APIRouter, Response

from coderag.engine.browsing.browser import Browser
from coderag.interfaces.rest.browse_bodies import (
    CallerLimitParameter,
    CandidatesParameter,
    ChunksBody,
    EndLineParameter,
    FileParameter,
    FolderParameter,
    LimitParameter,
    LinkLimitParameter,
    NameParameter,
    OffsetParameter,
    PathQueryParameter,
    StartLineParameter,
    SymbolQueryParameter,
)
from coderag.interfaces.rest.parameters import RootParameter
from coderag.interfaces.rest.request_runner import RequestRunner, RunnerDependency
from coderag.interfaces.rest.strict_route import StrictRoute
from coderag.schema.browse import (
    ChunkListing,
    CodeLinks,
    FileView,
    FolderListing,
    NameMatches,
    PathMatches,
    ReadingView,
)

router = APIRouter(route_class=StrictRoute, tags=["browsing"])


@router.get("/tree", response_model=FolderListing, summary="List a folder")
async def tree(
    runner: RunnerDependency,
    root: RootParameter,
    path: FolderParameter = "",
    offset: OffsetParameter = 0,
    limit: LimitParameter = 500,
) -> Response:
    """Return the folders and files directly in a folder, indexed or not, with the counts of each folder."""
    return await _reply(runner, root, lambda browser: browser.list_folder(path, offset=offset, limit=limit))


@router.get("/files", response_model=PathMatches, summary="Find files by their path")
async def files(
    runner: RunnerDependency, root: RootParameter, query: PathQueryParameter = "", limit: LimitParameter = 50
) -> Response:
    """Return the files whose path contains some words, in any case and order, best first."""
    return await _reply(runner, root, lambda browser: browser.match_files(query, limit=limit))


@router.get("/file", response_model=FileView, summary="Read a file")
async def file(
    runner: RunnerDependency,
    root: RootParameter,
    path: FileParameter,
    start_line: StartLineParameter = 1,
    end_line: EndLineParameter = None,
) -> Response:
    """Return lines of a file as it is on disk, as many as fit a reply; `next_line` begins the next one.

    A file without a readable text is no error: `state` tells why. Values in files of secrets are left out.
    """
    return await _reply(runner, root, lambda browser: browser.view_file(path, start_line=start_line, end_line=end_line))


@router.get("/file/links", response_model=CodeLinks, summary="List what lines of a file use")
async def file_links(
    runner: RunnerDependency,
    root: RootParameter,
    path: FileParameter,
    start_line: StartLineParameter = 1,
    end_line: EndLineParameter = None,
    limit: LinkLimitParameter = 2_000,
    candidates: CandidatesParameter = False,  # a parameter of the query
) -> Response:
    """Return the declarations that lines of a file call, name, extend or import, by line."""
    last = end_line or 100_000_000
    return await _reply(
        runner,
        root,
        lambda browser: browser.list_links(
            path, start_line=start_line, end_line=last, limit=limit, candidates=candidates
        ),
    )


@router.get("/symbols", response_model=NameMatches, summary="Find declarations by a part of their name")
async def symbols(
    runner: RunnerDependency, root: RootParameter, query: SymbolQueryParameter = "", limit: LimitParameter = 20
) -> Response:
    """Return the declarations whose name contains a text, equal names first; with `.`, the qualified name."""
    return await _reply(runner, root, lambda browser: browser.match_symbols(query, limit=limit))


@router.get("/declaration", response_model=ReadingView, summary="Read a declaration between callers and callees")
async def declaration(
    runner: RunnerDependency,
    root: RootParameter,
    name: NameParameter,
    limit: CallerLimitParameter = 50,
    candidates: CandidatesParameter = False,  # as above
) -> Response:
    """Return a declaration with the lines that call it, and with what its own lines use."""
    return await _reply(
        runner, root, lambda browser: browser.read_declaration(name, limit=limit, candidates=candidates)
    )


@router.post("/chunks", response_model=ChunkListing, summary="List chunks with facets")
async def chunks(body: ChunksBody, runner: RunnerDependency) -> Response:
    """Return chunks of a folder or file with their metadata, and the counts of each facet."""
    return await _reply(runner, body.root, lambda browser: browser.list_chunks(body.to_query()))


async def _reply(runner: RequestRunner, root: str, browse: Callable[[Browser], object]) -> Response:
    return await runner.reply_from_engine(root, lambda engine: browse(engine.open_browser()))
