"""Search, context, and where names are declared."""

from functools import partial

from fastapi import APIRouter, Response

from coderag.config.sections import MOST_RESULTS
from coderag.interfaces.rest.bodies import ContextBody, DefinitionBody, ExplainBody, ReadBody, SearchBody, TextBody
from coderag.interfaces.rest.parameters import RootParameter, SessionParameter
from coderag.interfaces.rest.replies import DefinitionReply, ForgottenReply, SearchReply, WorkspaceReply
from coderag.interfaces.rest.strict import StrictRoute
from coderag.interfaces.rest.work import Work, WorkOf
from coderag.retrieval.explanation import Explanation
from coderag.retrieval.text_search.text_matches import TextMatches
from coderag.schema.context import AssembledContext

router = APIRouter(route_class=StrictRoute, tags=["search"])

_FEW = 10
"""Results of several repositories by default; the settings of each may name another number."""


@router.post("/search", response_model=SearchReply | WorkspaceReply, summary="Find the code that a question is about")
async def search(body: SearchBody, work: WorkOf) -> Response:
    """Find the declarations and passages that a question is about, best first.

    With `root` in one repository, with `repositories` in several: then each result says which one it is of. `next_offset` of
    the reply is the `offset` of the next page.
    """
    return await work.reply(partial(_search if body.root else _search_several, work, body))


@router.post("/search/text", response_model=TextMatches, summary="Find exact text or a regular expression")
async def search_text(body: TextBody, work: WorkOf) -> Response:
    """Find every place in the indexed files, as they are on disk now, where a text stands or a pattern matches."""
    return await work.reply(partial(_search_text, work, body), is_long=True)


@router.post("/explain", response_model=Explanation, summary="Explain the results of a question")
async def explain(body: ExplainBody, work: WorkOf) -> Response:
    """Tell why each result is where it is, and what of it a context shows."""
    return await work.reply(partial(_explain, work, body), is_long=True)


@router.post("/context", response_model=AssembledContext, summary="Pack the code for a question into a token budget")
async def context(body: ContextBody, work: WorkOf) -> Response:
    """Return the code that a question needs, for a prompt; what did not fit is listed with how to get it.

    With a `session`, or with `shown` of an earlier context, code that was shown before is left out.
    """
    return await work.reply(partial(_context, work, body))


@router.delete("/sessions/{session}", response_model=ForgottenReply, summary="Forget what a session has shown")
async def forget_session(session: SessionParameter, root: RootParameter, work: WorkOf) -> Response:
    """Forget what the contexts of a session have shown, so that it begins anew."""
    return await work.reply(partial(_forget_session, work, root, session))


@router.post("/read", response_model=AssembledContext, summary="Read lines of indexed files")
async def read(body: ReadBody, work: WorkOf) -> Response:
    """Return lines of indexed files, as the omissions of a context name them."""
    return await work.reply(partial(_read, work, body))


@router.post("/definition", response_model=DefinitionReply, summary="Find where a name is declared")
async def definition(body: DefinitionBody, work: WorkOf) -> Response:
    """Return where a name is declared, the best match first; no hits if it is not."""
    return await work.reply(partial(_definition, work, body))


def _search(work: Work, body: SearchBody) -> SearchReply:
    with work.using(str(body.root)) as one:
        size = body.top_k or one.engine.settings.search.top_k
        last = min(body.offset + size, MOST_RESULTS)
        found = one.engine.search(body.query, top_k=last, filters=body.as_filters())
        return SearchReply(
            query=body.query,
            root=str(one.root),
            repository=one.name,
            hits=found[body.offset :],
            evidence=found.evidence,
            confidence=found.confidence,
            not_indexed=found.not_indexed,
            next_offset=_next_page(len(found), last),
        )


def _search_several(work: Work, body: SearchBody) -> WorkspaceReply:
    places = [work.place(root) for root in body.repositories or ()]
    last = min(body.offset + (body.top_k or _FEW), MOST_RESULTS)
    found = work.workspace.search(body.query, places, top_k=last, filters=body.as_filters())
    hits = found.hits[:last]
    return WorkspaceReply(body.query, hits[body.offset :], found.verdicts, _next_page(len(hits), last))


def _next_page(found: int, asked: int) -> int | None:
    """Return where the next page begins; None if there is nothing more to be had."""
    return asked if found == asked < MOST_RESULTS else None


def _search_text(work: Work, body: TextBody) -> TextMatches:
    with work.using(body.root) as one:
        return one.engine.search_text(
            body.text,
            regex=body.regex,
            ignore_case=body.ignore_case,
            context_lines=body.context_lines,
            limit=body.limit,
            filters=body.as_filters(),
        )


def _explain(work: Work, body: ExplainBody) -> Explanation:
    with work.using(body.root) as one:
        return one.engine.explain(
            body.query, top_k=body.top_k, token_budget=body.token_budget, filters=body.as_filters()
        )


def _context(work: Work, body: ContextBody) -> AssembledContext:
    with work.using(body.root) as one:
        return one.engine.context(
            body.query,
            token_budget=body.token_budget,
            filters=body.as_filters(),
            format=body.format,
            shown=body.shown,
            session=body.session,
        )


def _forget_session(work: Work, root: str, session: str) -> ForgottenReply:
    with work.using(root) as one:
        return ForgottenReply(one.engine.forget(session))


def _read(work: Work, body: ReadBody) -> AssembledContext:
    with work.using(body.root) as one:
        return one.engine.read(body.places, token_budget=body.token_budget, format=body.format)


def _definition(work: Work, body: DefinitionBody) -> DefinitionReply:
    with work.using(body.root) as one:
        return DefinitionReply(body.name, str(one.root), one.engine.definition(body.name))
