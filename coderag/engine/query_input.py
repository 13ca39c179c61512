"""Validation of a caller's arguments and their conversion to the query graph's input."""

from pathlib import Path

from coderag.config.sections import MAX_RESULTS, MAX_TOKENS, MIN_TOKENS
from coderag.errors import InvalidQueryError
from coderag.question.question_text import check_question
from coderag.retrieval.filters import to_filter_values
from coderag.schema.query import FilterValues, Goal, QueryInput
from coderag.schema.search import Filters
from coderag.stores.index_store import IndexStore
from coderag.stores.manifest import load_manifest


def build_query_input(
    query: str, goal: Goal, *, top_k: int | None = None, token_budget: int | None = None, filters: FilterValues | None
) -> QueryInput:
    """Build the input of the query graph; None leaves a limit to the settings.

    Raises:
        InvalidQueryError: The question is invalid, or a number is out of range.
    """
    check_question(query)
    query_input = QueryInput(query=query, goal=goal)
    if top_k is not None:
        query_input["top_k"] = check_range("top_k", top_k, 1, MAX_RESULTS)
    if token_budget is not None:
        query_input["token_budget"] = check_range("token_budget", token_budget, MIN_TOKENS, MAX_TOKENS)
    if filters is not None:
        query_input["filters"] = filters
    return query_input


def resolve_filters(filters: Filters, root: Path, store: IndexStore) -> FilterValues:
    """Convert filters to plain data, with the indexed files changed since `Filters.changed_since`.

    Raises:
        InvalidQueryError: A filter is invalid.
        IndexNotFoundError: A revision is given, but nothing is indexed yet.
    """
    changed = None
    if filters.changed_since:
        from coderag.ingestion.files.revisions import find_changed_since  # noqa: PLC0415  # only this filter needs it

        paths = [record.path for record in load_manifest(store.open()).records]
        changed = find_changed_since(root, filters.changed_since, paths)
    return to_filter_values(filters, changed, root)


def check_range(name: str, value: int, minimum: int, maximum: int) -> int:
    """Check that a caller's number is an integer in a range, and return it.

    Raises:
        InvalidQueryError: It is not an integer, or out of range.
    """
    if not isinstance(value, int):
        raise InvalidQueryError(f"{name} is {value!r}; it must be an integer")
    if not minimum <= value <= maximum:
        raise InvalidQueryError(f"{name} is {value}; it must be from {minimum:,} to {maximum:,}")
    return value
