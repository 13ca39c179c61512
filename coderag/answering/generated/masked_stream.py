"""Real names for masked paths in a reply that comes in pieces, any of which may end within a path."""

import re
from collections.abc import AsyncIterator

from coderag.schema.prompts import CutOff
from coderag.text.path_masking import MaskedPaths

_UNFINISHED = re.compile(r"[\w./+~@-]*\Z")


async def unmasked(pieces: AsyncIterator[str], paths: MaskedPaths) -> AsyncIterator[str]:
    """Yield a reply with the real names of masked paths; a word is kept back until it is whole."""
    kept = ""
    async for piece in pieces:
        if isinstance(piece, CutOff):
            yield paths.unmask(kept)
            yield piece
            return
        kept += piece
        match = _UNFINISHED.search(kept)
        whole = kept[: match.start()] if match else kept
        if whole:
            kept = kept[len(whole) :]
            yield paths.unmask(whole)
    yield paths.unmask(kept)
