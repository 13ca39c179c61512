"""Documents of a folder or of a git repository, behind one protocol: a listing with hashes, and contents."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple, Protocol

from coderag.text.path_globs import PathGlobs

MAX_DOCUMENT_BYTES: Final = 10_000_000
"""Larger documents are failures."""

_TEXT_SUFFIXES: Final = (".md", ".markdown", ".mdx", ".adoc", ".asciidoc", ".asc", ".rst")
SPECIFICATION_SUFFIXES: Final = (".yaml", ".yml", ".json")
"""Files that may be OpenAPI documents; their content decides."""


class DocumentEntry(NamedTuple):
    """A candidate in a listing.

    Attributes:
        path: Path relative to the root, with ``/``.
        hash: Hash of the content.
        size: Size in bytes.
    """

    path: str
    hash: str
    size: int


@dataclass(frozen=True, slots=True)
class DocumentContent:
    """Content of a document; `modified` is None if it is not known."""

    data: bytes
    modified: datetime | None = None


class DocumentStore(Protocol):
    """Storage of documents. Every method raises `SourceError`."""

    def describe(self) -> str:
        """Return the place for people."""

    def find_version(self) -> str:
        """Return a version that changes with every change of the documents; empty if there is none."""

    def list_entries(self) -> list[DocumentEntry]:
        """List the candidates, sorted by path."""

    def read_contents(self, entries: Sequence[DocumentEntry]) -> Iterator[DocumentContent | str]:
        """Yield the content of each entry, or the reason why it cannot be read."""

    def close(self) -> None:
        """Release what is open."""


class DocumentFilter:
    """Choice of candidates by name.

    Args:
        include: Globs of documents; empty takes all.
        exclude: Globs of documents to leave out.
    """

    def __init__(self, include: Sequence[str], exclude: Sequence[str]) -> None:
        self._include = PathGlobs(include) if include else None
        self._exclude = PathGlobs(exclude)

    def matches(self, path: str) -> bool:
        """Return whether a file is a candidate. Hidden files and folders never are."""
        if not path.lower().endswith((*_TEXT_SUFFIXES, *SPECIFICATION_SUFFIXES)) or "/." in f"/{path}":
            return False
        return (self._include is None or self._include.matches(path)) and not self._exclude.matches(path)
