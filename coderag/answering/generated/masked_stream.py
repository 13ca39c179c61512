"""Restoration of masked paths in a streamed reply, whose parts may end within a path."""

import re
from collections.abc import AsyncIterator

from coderag.schema.prompts import CutOff
from coderag.text.path_masking import MaskedPaths

_PARTIAL_WORD = re.compile(r"[\w./+~@-]*\Z")


async def unmask_stream(deltas: AsyncIterator[str], paths: MaskedPaths) -> AsyncIterator[str]:
    """Yield a reply with masked paths restored; an incomplete word is buffered."""
    buffer = ""
    async for delta in deltas:
        if isinstance(delta, CutOff):
            yield paths.unmask_text(buffer)
            yield delta
            return
        buffer += delta
        match = _PARTIAL_WORD.search(buffer)
        complete = buffer[: match.start()] if match else buffer
        if complete:
            buffer = buffer[len(complete) :]
            yield paths.unmask_text(complete)
    yield paths.unmask_text(buffer)
