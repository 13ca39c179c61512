"""Routes for search, context and definitions."""

import time
from functools import partial

from fastapi import APIRouter, Response

from coderag.config.sections import MAX_RESULTS
from coderag.interfaces.rest.bodies import ContextBody, DefinitionBody, ExplainBody, ReadBody, SearchBody, TextBody
from coderag.interfaces.rest.parameters import RootParameter, SessionParameter
from coderag.interfaces.rest.replies import DefinitionReply, ForgottenReply, SearchReply, WorkspaceReply
from coderag.interfaces.rest.request_runner import RequestRunner, RunnerDependency
from coderag.interfaces.rest.strict_route import StrictRoute
from coderag.retrieval.explanation import Explanation
from coderag.schema.context import AssembledContext
from coderag.schema.text_matches import TextMatches

router = APIRouter(route_class=StrictRoute, tags=["search"])

_DEFAULT_FEDERATED_RESULTS = 10
"""Default number of results over several repositories, independent of their settings."""


@router.post("/search", response_model=SearchReply | WorkspaceReply, summary="Search for code")
async def search(body: SearchBody, runner: RunnerDependency) -> Response:
    """Find the declarations for a query, best first.

    `root` searches one repository, `repositories` several; each result then names its repository. `next_offset` of the
    reply is the `offset` of the next page.
    """
    return await runner.reply(partial(_search if body.root else _search_federated, runner, body))


@router.post("/search/text", response_model=TextMatches, summary="Find exact text or a regular expression")
async def search_text(body: TextBody, runner: RunnerDependency) -> Response:
    """Find every match of a text or pattern in the indexed files as they are on disk."""
    return await runner.reply(partial(_search_text, runner, body), is_long=True)


@router.post("/explain", response_model=Explanation, summary="Explain the results of a search")
async def explain(body: ExplainBody, runner: RunnerDependency) -> Response:
    """Explain the rank of each result, and what a context shows of it."""
    return await runner.reply(partial(_explain, runner, body), is_long=True)


@router.post("/context", response_model=AssembledContext, summary="Assemble the code for a query within a token budget")
async def context(body: ContextBody, runner: RunnerDependency) -> Response:
    """Return the code for a query, for use in a prompt; omissions are listed with the command that fetches them.

    With a `session`, or with `shown` of an earlier context, code shown before is left out.
    """
    return await runner.reply(partial(_assemble_context, runner, body))


@router.delete("/sessions/{session}", response_model=ForgottenReply, summary="Forget what a session has shown")
async def forget_session(session: SessionParameter, root: RootParameter, runner: RunnerDependency) -> Response:
    """Forget what the contexts of a session have shown."""
    return await runner.reply(partial(_forget_session, runner, root, session))


@router.post("/read", response_model=AssembledContext, summary="Read lines of indexed files")
async def read(body: ReadBody, runner: RunnerDependency) -> Response:
    """Return lines of indexed files, such as the omissions of a context."""
    return await runner.reply(partial(_read, runner, body))


@router.post("/definition", response_model=DefinitionReply, summary="Find the declarations of a name")
async def definition(body: DefinitionBody, runner: RunnerDependency) -> Response:
    """Return the declarations of a name, best match first; no hits if there are none."""
    return await runner.reply(partial(_find_definitions, runner, body))


def _search(runner: RequestRunner, body: SearchBody) -> SearchReply:
    with runner.hold_repository(str(body.root)) as repository:
        size = body.top_k or repository.engine.settings.search.top_k
        end = min(body.offset + size, MAX_RESULTS)
        started = time.perf_counter()
        hits = repository.engine.search(body.query, top_k=end, filters=body.to_filters())
        if not body.offset:
            runner.recorder.record(repository, "search", body, hits, started)
        return SearchReply(
            query=body.query,
            root=repository.place,
            repository=repository.name,
            hits=hits[body.offset :],
            evidence=hits.evidence,
            confidence=hits.confidence,
            not_indexed=hits.not_indexed,
            notes=hits.notes,
            next_offset=_compute_next_offset(len(hits), end),
        )


def _search_federated(runner: RequestRunner, body: SearchBody) -> WorkspaceReply:
    roots = [runner.resolve_root(root) for root in body.repositories or ()]
    end = min(body.offset + (body.top_k or _DEFAULT_FEDERATED_RESULTS), MAX_RESULTS)
    results = runner.workspace.search(body.query, roots, top_k=end, filters=body.to_filters())
    hits = results.hits[:end]
    return WorkspaceReply(body.query, hits[body.offset :], results.verdicts, _compute_next_offset(len(hits), end))


def _compute_next_offset(hit_count: int, end: int) -> int | None:
    """Compute the offset of the next page; None if there is none."""
    return end if hit_count == end < MAX_RESULTS else None


def _search_text(runner: RequestRunner, body: TextBody) -> TextMatches:
    with runner.hold_repository(body.root) as repository:
        return repository.engine.search_text(
            body.text,
            regex=body.regex,
            ignore_case=body.ignore_case,
            context_lines=body.context_lines,
            limit=body.limit,
            filters=body.to_filters(),
        )


def _explain(runner: RequestRunner, body: ExplainBody) -> Explanation:
    with runner.hold_repository(body.root) as repository:
        return repository.engine.explain(
            body.query, top_k=body.top_k, token_budget=body.token_budget, filters=body.to_filters()
        )


def _assemble_context(runner: RequestRunner, body: ContextBody) -> AssembledContext:
    with runner.hold_repository(body.root) as repository:
        started = time.perf_counter()
        assembled = repository.engine.context(
            body.query,
            token_budget=body.token_budget,
            filters=body.to_filters(),
            format=body.format,
            shown=body.shown,
            session=body.session,
        )
        runner.recorder.record(repository, "context", body, assembled, started)
        return assembled


def _forget_session(runner: RequestRunner, root: str, session: str) -> ForgottenReply:
    with runner.hold_repository(root) as repository:
        return ForgottenReply(repository.engine.forget(session))


def _read(runner: RequestRunner, body: ReadBody) -> AssembledContext:
    with runner.hold_repository(body.root) as repository:
        return repository.engine.read(body.places, token_budget=body.token_budget, format=body.format)


def _find_definitions(runner: RequestRunner, body: DefinitionBody) -> DefinitionReply:
    with runner.hold_repository(body.root) as repository:
        return DefinitionReply(body.name, repository.place, repository.engine.definition(body.name))
