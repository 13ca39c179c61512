"""Pagination of results without duplicates."""

from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

from coderag.interfaces.mcp.arguments import MAX_RANKED_RESULTS

_Hit = TypeVar("_Hit")


def fetch_page(
    first: Sequence[_Hit], search: Callable[[int], Sequence[_Hit]], key: Callable[[_Hit], Hashable], offset: int
) -> list[_Hit]:
    """Return the page at an offset; all pages are as long as `first`.

    A search with a higher limit may reorder the first results, as it compares more candidates. So later pages hold the
    results of the largest search that the first page does not show.

    Args:
        first: The first page.
        search: Searches with a given number of results.
        key: Identity of a result.
        offset: Results to skip.
    """
    if not offset:
        return list(first)
    seen_keys = {key(hit) for hit in first}
    ordered = list(first)
    for hit in search(MAX_RANKED_RESULTS):
        if key(hit) not in seen_keys:
            seen_keys.add(key(hit))
            ordered.append(hit)
    return ordered[offset : offset + len(first)]
