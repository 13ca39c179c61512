"""Words of a question about a failure that say what goes wrong."""

import re
from typing import Final

_SAID_APART: Final = re.compile(r"\btim(?:e[sd]?|ing)\s+out\b", re.IGNORECASE)  # one word in code
_ASKING: Final = re.compile(
    r"\b(?:happen\w*|handl\w*|fail\w*|errors?|exceptions?|crash\w*|panic\w*|cannot|can't|could\s*n[o']t)\b",
    re.IGNORECASE,
)
"""Words of such a question that do not say what goes wrong."""


def describe_failure(question: str) -> str:
    """Return a question without the words that only say that something fails."""
    return _ASKING.sub(" ", _SAID_APART.sub("timeout", question))
