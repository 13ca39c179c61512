"""What is answered while a repository is indexed for the first time."""

from functools import partial

from coderag.errors import InvalidQueryError
from coderag.interfaces.mcp.following import told
from coderag.interfaces.mcp.places import hit_part
from coderag.interfaces.mcp.replies import Part, Reply
from coderag.interfaces.mcp.repositories import Opened
from coderag.interfaces.mcp.tool import Call

_MOST_RESULTS = 10
_LINES = 8


async def pending_reply(
    call: Call, opened: Opened, query: str, *, top_k: int = _MOST_RESULTS, key: str = "results", **facts: str
) -> Reply:
    """Return what a quick pass over the files finds by their words, and how far the index is.

    Args:
        call: The call.
        opened: Its repository, which is being indexed.
        query: What to look for; a name or a path will do.
        top_k: Number of results, at most.
        key: The list of the data that they are in.
        facts: Further data.
    """
    assert opened.indexing is not None
    state = told(opened.indexing)
    parts = await call.run(partial(_previewed, opened, query, top_k, key))
    return Reply(
        facts={"repository": opened.name, "indexing": state, key: [], **facts},
        intro=[f"{opened.name} is being indexed for the first time ({state})."],
        parts=parts,
        notes=[
            f"{'These are' if parts else 'Nothing yet:'} the results of a quick pass by words, without ranking and links. "
            "Ask again in a moment for the full answer; coderag_status says how far it is."
        ],
    )


def _previewed(opened: Opened, query: str, top_k: int, key: str) -> list[Part]:
    cleaner = opened.cleaner()
    try:
        hits = opened.repository.preview(query, top_k)
    except InvalidQueryError:  # such as a path: nothing in it is a word to search for
        return []
    return [hit_part(hit, cleaner, lines=_LINES, number=number, key=key) for number, hit in enumerate(hits, 1)]
