"""``search_codebase``: the one tool of the profile ``single``."""

from dataclasses import replace
from functools import partial

from coderag.interfaces.mcp.arguments import SingleArguments
from coderag.interfaces.mcp.contexts import context_reply
from coderag.interfaces.mcp.pending import pending_reply
from coderag.interfaces.mcp.places import hit_part
from coderag.interfaces.mcp.replies import MOST_CHARACTERS, Reply
from coderag.interfaces.mcp.repositories import Opened
from coderag.interfaces.mcp.structures import Context
from coderag.interfaces.mcp.tool import Call, ToolDefinition

_TOP_PLACES = 10
_PLACES_SHARE = 0.15  # of the tokens


async def search_codebase(call: Call, asked: SingleArguments) -> Reply:
    """Return the code for a question, and the places that come next."""
    opened = await call.open(asked.repository)
    if opened.indexing is not None:
        return await pending_reply(call, opened, asked.query)
    return await call.run(partial(_answered, opened, asked))


def _answered(opened: Opened, asked: SingleArguments) -> Reply:
    budget = max(200, int(min(asked.max_tokens, MOST_CHARACTERS // 3) * (1 - _PLACES_SHARE)))
    reply = context_reply(opened, opened.engine.context(asked.query, token_budget=budget), max_tokens=asked.max_tokens)
    shown = {(part.data.get("path"), part.data.get("name")) for part in reply.parts}
    cleaner = opened.cleaner()
    for hit in opened.engine.search(asked.query, top_k=_TOP_PLACES):
        part = hit_part(hit, cleaner, lines=0, key="places")
        if (part.data["path"], part.data.get("name")) not in shown:
            reply.parts.append(replace(part, title="Further places"))
    reply.more = lambda _: "search_codebase with a narrower question, or your own file tools at the places above."
    return reply


SINGLE = ToolDefinition(
    "search_codebase",
    "Search the codebase",
    "Get the code of this project that answers a question, task or bug report, with related code and how it hangs together, "
    "packed into max_tokens. Call it before grep or reading files. Returns code with paths and lines, further places, and how "
    "well they answer.",
    SingleArguments,
    Context,
    search_codebase,
)
