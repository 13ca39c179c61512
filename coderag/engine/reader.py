"""Reader of an engine that several people share: what of it is their own, and what they may see."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Reader:
    """A person or program that reads through a shared engine.

    Attributes:
        namespace: Prefix of the names of its sessions and conversations, which separates them from those of other
            readers; lower-case letters and digits. Empty for the owner of the index.
        sources: Names of the sources whose items it may see; None for all.
    """

    namespace: str = ""
    sources: frozenset[str] | None = None


OWNER: Final = Reader()
"""Reader to whom the whole index belongs."""
