"""Reader of an engine that several people share: what of it is their own, and what they may see."""

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_Reply = TypeVar("_Reply", bound="DataclassInstance")

_FOLDER_FIELDS: Final = frozenset({"directory", "trusted_by", "trust_file"})
"""Fields of replies with folders and files outside of the repository."""


@dataclass(frozen=True, slots=True)
class Reader:
    """A person or program that reads through a shared engine.

    Attributes:
        namespace: Prefix of the names of its sessions and conversations, which separates them from those of other
            readers; lower-case letters and digits. Empty for the owner of the index.
        sources: Names of the sources whose items it may see; None for all.
        place: Name of the repository in replies, instead of its folder; empty for somebody who may see the folder.
    """

    namespace: str = ""
    sources: frozenset[str] | None = None
    place: str = ""

    def hide_folders(self, reply: _Reply) -> _Reply:
        """Return a reply of an engine as the reader may see it: a place stands for the root, and other folders are empty.

        Args:
            reply: A dataclass with the field `root`.
        """
        if not self.place:
            return reply
        hidden = {field.name: "" for field in fields(reply) if field.name in _FOLDER_FIELDS}
        return replace(reply, **{**hidden, "root": self.place})


OWNER: Final = Reader()
"""Reader to whom the whole index belongs."""
