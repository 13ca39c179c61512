"""Pages of results that hold each result once."""

from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

from coderag.interfaces.mcp.arguments import MAX_RANKED_RESULTS

_Hit = TypeVar("_Hit")


def fetch_page(
    first: Sequence[_Hit], search: Callable[[int], Sequence[_Hit]], key: Callable[[_Hit], Hashable], offset: int
) -> list[_Hit]:
    """Return the results from an offset on: the first page is as long as `first`, and so are the others.

    A search for more results may order the first ones in another way, as more candidates are compared. So what comes after
    the first page is all that a search for the most results finds and that page does not show.

    Args:
        first: The first page.
        search: Returns as many results as it is asked for.
        key: What makes two results one.
        offset: Results to pass over.
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
