"""Protocols of what answers queries for one repository. Imports nothing slow.

`coderag.app.CodeRAG` implements them in this process, `coderag.service.remote.RemoteCodeRAG` in front of the service.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Protocol

from coderag.schema.answers import Answer, AnswerEvent
from coderag.schema.context import AssembledContext
from coderag.schema.graph import GraphCycle, GraphNeighbour, Hotspot, OutlineEntry
from coderag.schema.indexing import IndexProgress, IndexReport, IndexStatus
from coderag.schema.mentions import (
    DEFAULT_MAX_MENTIONS,
    DEFAULT_MAX_UNUSED,
    MentionQuery,
    Mentions,
    UnusedReport,
)
from coderag.schema.search import Filters, SearchHit, SearchHits
from coderag.schema.text_matches import DEFAULT_MAX_MATCHES, TextMatches
from coderag.schema.vocabulary import ContextFormat, CycleLevel


class CodeGraphQueries(Protocol):
    """Queries of a code graph by name. Each raises `UnknownNameError` or `AmbiguousNameError`."""

    def callers(self, name: str, depth: int = 1, *, candidates: bool = False) -> list[GraphNeighbour]:
        """Return what calls a function, or calls the members of a type."""
        ...

    def callees(self, name: str, depth: int = 1, *, candidates: bool = False) -> list[GraphNeighbour]:
        """Return what a declaration calls."""
        ...

    def imports(self, name: str, depth: int = 1, *, candidates: bool = False) -> list[GraphNeighbour]:
        """Return what a file or folder imports."""
        ...

    def importers(self, name: str, depth: int = 1, *, candidates: bool = False) -> list[GraphNeighbour]:
        """Return what imports a file, folder, package or declaration."""
        ...

    def bases(self, name: str, depth: int = 1, *, candidates: bool = False) -> list[GraphNeighbour]:
        """Return what a type extends or implements."""
        ...

    def subclasses(self, name: str, depth: int = 1, *, candidates: bool = False) -> list[GraphNeighbour]:
        """Return what extends a type."""
        ...

    def implementations(self, name: str, depth: int = 1, *, candidates: bool = False) -> list[GraphNeighbour]:
        """Return what implements an interface or one of its methods."""
        ...

    def overrides(self, name: str, depth: int = 1, *, candidates: bool = False) -> list[GraphNeighbour]:
        """Return the methods that a method overrides."""
        ...

    def overridden(self, name: str, depth: int = 1, *, candidates: bool = False) -> list[GraphNeighbour]:
        """Return the methods that override a method."""
        ...

    def tests(self, name: str, *, candidates: bool = False) -> list[GraphNeighbour]:
        """Return the tests of a declaration or file."""
        ...

    def references(self, name: str, *, candidates: bool = False) -> list[GraphNeighbour]:
        """Return what names a declaration without calling it."""
        ...

    def documents(self, name: str, *, candidates: bool = False) -> list[GraphNeighbour]:
        """Return the documents that name a declaration."""
        ...

    def impact(self, name: str, depth: int = 3, *, candidates: bool = False) -> list[GraphNeighbour]:
        """Return what a change of a declaration or file may break."""
        ...

    def path(self, start: str, end: str, *, candidates: bool = False) -> list[GraphNeighbour]:
        """Return the steps of the shortest path from one declaration to another; empty if there is none."""
        ...

    def cycles(self, level: CycleLevel = "files") -> list[GraphCycle]:
        """Return the cycles of imports, or of calls."""
        ...

    def hotspots(self, limit: int = 20, kind: str | None = None) -> list[Hotspot]:
        """Return the most central declarations and files, by PageRank."""
        ...

    def outline(self, path: str) -> list[OutlineEntry]:
        """Return the declarations of a file, nested."""
        ...

    def find_file(self, name: str) -> str:
        """Return the path of the file that `outline` lists."""
        ...


class Engine(Protocol):
    """Answers queries for one repository.

    Attributes:
        root: Folder of the repository.
    """

    root: Path

    @property
    def graph(self) -> CodeGraphQueries:
        """The code graph."""
        ...

    def index(self, *, full: bool = False, progress: Callable[[IndexProgress], None] | None = None) -> IndexReport:
        """Bring the index up to date."""
        ...

    def status(self) -> IndexStatus:
        """Return what is indexed and what on disk differs from it."""
        ...

    def search(self, query: str, *, top_k: int | None = None, filters: Filters | None = None) -> SearchHits:
        """Return the results of a query, best first."""
        ...

    def search_text(
        self,
        text: str,
        *,
        regex: bool = False,
        ignore_case: bool = False,
        context_lines: int = 0,
        limit: int = DEFAULT_MAX_MATCHES,
        filters: Filters | None = None,
    ) -> TextMatches:
        """Return the places of a text or pattern in the indexed files as they are on disk."""
        ...

    def mentions(self, name: str, query: MentionQuery | None = None, *, limit: int = DEFAULT_MAX_MENTIONS) -> Mentions:
        """Return the lines that mention a name outside its declarations."""
        ...

    def unused(self, path: str = "", *, limit: int = DEFAULT_MAX_UNUSED) -> UnusedReport:
        """Return the declarations that nothing is known to use."""
        ...

    def definition(self, name: str) -> list[SearchHit]:
        """Return the declarations of a name."""
        ...

    def context(
        self,
        query: str,
        *,
        token_budget: int | None = None,
        filters: Filters | None = None,
        format: ContextFormat = "markdown",  # noqa: A002  # public name
        shown: Sequence[str] = (),
        session: str | None = None,
    ) -> AssembledContext:
        """Return the code for a question, packed into a token budget."""
        ...

    def read(
        self,
        places: Sequence[str],
        *,
        token_budget: int | None = None,
        format: ContextFormat = "markdown",  # noqa: A002  # public name
    ) -> AssembledContext:
        """Return lines of files as a context."""
        ...

    def forget(self, session: str) -> bool:
        """Forget what the contexts of a session have shown; return whether it was known."""
        ...

    def ask(self, query: str, *, token_budget: int | None = None, filters: Filters | None = None) -> Answer:
        """Return an answer with checked citations."""
        ...

    def astream(
        self, query: str, *, token_budget: int | None = None, filters: Filters | None = None
    ) -> AsyncIterator[AnswerEvent]:
        """Yield the events of an answer while it is written."""
        ...
