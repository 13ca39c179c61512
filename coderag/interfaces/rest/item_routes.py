"""Routes for mirrored pages and tickets."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query, Response

from coderag.engine.items.item_search import DEFAULT_PAGE_TOKENS
from coderag.interfaces.rest.item_bodies import (
    ItemIdParameter,
    ItemsQuery,
    PageParameter,
    PageTokensParameter,
    SourceParameter,
)
from coderag.interfaces.rest.parameters import RootParameter
from coderag.interfaces.rest.request_runner import RequestRunner, RunnerDependency
from coderag.interfaces.rest.strict_route import StrictRoute
from coderag.schema.item_search import ItemListing, ItemResults, ItemText

router = APIRouter(route_class=StrictRoute, tags=["items"])


@router.get("/items", response_model=ItemResults | ItemListing, summary="Search or list pages and tickets")
async def items(query: Annotated[ItemsQuery, Query()], runner: RunnerDependency) -> Response:
    """Return the mirrored items of documentation and backlog systems: the best for a question, or a list.

    With `q`, each result has its best section, best first. Without it, items are listed, last modified first. `notes` tells
    what was not synchronised.
    """
    run = _search_items if query.q.strip() else _list_items
    return await runner.reply(partial(run, runner, query), is_long=bool(query.q.strip()))


@router.get("/items/{id:path}", response_model=ItemText, summary="Read a page or ticket")
async def item(
    id: ItemIdParameter,  # noqa: A002  # the parameter's public name
    runner: RunnerDependency,
    root: RootParameter,
    source: SourceParameter = "",
    page: PageParameter = 1,
    page_tokens: PageTokensParameter = DEFAULT_PAGE_TOKENS,
) -> Response:
    """Return a page of an item's Markdown, with what its text names in the code."""
    return await runner.reply(partial(_read_item, runner, root, id, source, page, page_tokens))


def _search_items(runner: RequestRunner, query: ItemsQuery) -> ItemResults:
    with runner.hold_repository(query.root) as repository:
        return repository.engine.items.search(query.q, limit=query.limit, filters=query.to_filters())


def _list_items(runner: RequestRunner, query: ItemsQuery) -> ItemListing:
    with runner.hold_repository(query.root) as repository:
        return repository.engine.items.list_items(filters=query.to_filters(), limit=query.limit, offset=query.offset)


def _read_item(runner: RequestRunner, root: str, item_id: str, source: str, page: int, page_tokens: int) -> ItemText:
    with runner.hold_repository(root) as repository:
        return repository.engine.items.get(item_id, source=source, page=page, page_tokens=page_tokens)
