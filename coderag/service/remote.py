"""Facade of a repository that is served by the running service. Imports nothing slow."""

import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import quote

from coderag.errors import (
    CodeRAGError,
    ConfigurationError,
    IngestionError,
    ModelAuthenticationError,
    ServiceError,
)
from coderag.schema.answers import Answer, AnswerEvent
from coderag.schema.context import AssembledContext
from coderag.schema.indexing import IndexProgress, IndexReport, IndexStatus
from coderag.schema.mentions import (
    DEFAULT_MAX_MENTIONS,
    DEFAULT_MAX_UNUSED,
    MentionQuery,
    Mentions,
    UnusedReport,
)
from coderag.schema.search import Filters, SearchHit, SearchHits
from coderag.schema.text_matches import DEFAULT_MAX_MATCHES
from coderag.schema.vocabulary import ContextFormat
from coderag.service import reply_parsers
from coderag.service.client import API_PREFIX, ServiceClient, to_error
from coderag.service.remote_graph import RemoteGraph

if TYPE_CHECKING:
    from coderag.app import CodeRAG
    from coderag.schema.text_matches import TextMatches

FALLBACK_ERRORS: Final = (ServiceError, ConfigurationError, ModelAuthenticationError, IngestionError)
"""Errors that the service itself may cause.

It may be unreachable or busy, may not open the folder, lack a key, or reject a valid request. The engine in this
process decides."""

_log = logging.getLogger(__name__)

_Result = TypeVar("_Result")


class RemoteCodeRAG:
    """A repository with the interface of `coderag.app.CodeRAG`, queried through the service.

    Results and errors are the same.

    Once the service fails, this and all later calls run in this process.

    Args:
        root: Absolute path of the repository.
        client: Client of the service.
        open_local: Opens the engine in this process; takes seconds.
        on_served: Called once, on the first reply of the service.
    """

    def __init__(
        self,
        root: Path,
        client: ServiceClient,
        open_local: "Callable[[], CodeRAG]",
        on_served: Callable[[], None] | None = None,
    ) -> None:
        self.root = root
        self._client = client
        self._open_local = open_local
        self._on_served = on_served
        self._local_engine: CodeRAG | None = None

    @property
    def local_engine(self) -> "CodeRAG":
        """The engine in this process. Raises as its constructor."""
        if self._local_engine is None:
            self._local_engine = self._open_local()
        return self._local_engine

    def search(self, query: str, *, top_k: int | None = None, filters: Filters | None = None) -> SearchHits:
        """As `CodeRAG.search`."""
        body = {"query": query, "top_k": top_k, "filters": _to_filter_body(filters)}
        return self._ask(
            lambda: reply_parsers.parse_hits(self._post("/search", body)),
            lambda engine: engine.search(query, top_k=top_k, filters=filters),
        )

    def search_text(
        self,
        text: str,
        *,
        regex: bool = False,
        ignore_case: bool = False,
        context_lines: int = 0,
        limit: int = DEFAULT_MAX_MATCHES,
        filters: Filters | None = None,
    ) -> "TextMatches":
        """As `CodeRAG.search_text`."""
        options: dict[str, Any] = {
            "regex": regex, "ignore_case": ignore_case, "context_lines": context_lines, "limit": limit
        }  # fmt: skip
        body = {"text": text, **options, "filters": _to_filter_body(filters)}
        return self._ask(
            lambda: reply_parsers.parse_matches(self._post("/search/text", body)),
            lambda engine: engine.search_text(text, **options, filters=filters),
        )

    def mentions(self, name: str, query: MentionQuery | None = None, *, limit: int = DEFAULT_MAX_MENTIONS) -> Mentions:
        """As `CodeRAG.mentions`."""
        body = {"name": name, "question": query, "limit": limit}
        return self._ask(
            lambda: reply_parsers.parse_mentions(self._post("/graph/mentions", body)),
            lambda engine: engine.mentions(name, query, limit=limit),
        )

    def unused(self, path: str = "", *, limit: int = DEFAULT_MAX_UNUSED) -> UnusedReport:
        """As `CodeRAG.unused`."""
        body = {"path": path, "limit": limit}
        return self._ask(
            lambda: reply_parsers.parse_unused(self._post("/graph/unused", body)),
            lambda engine: engine.unused(path, limit=limit),
        )

    def context(
        self,
        query: str,
        *,
        token_budget: int | None = None,
        filters: Filters | None = None,
        format: ContextFormat = "markdown",  # noqa: A002  # as in `CodeRAG`
        shown: Sequence[str] = (),
        session: str | None = None,
    ) -> AssembledContext:
        """As `CodeRAG.context`."""
        options: dict[str, Any] = {"token_budget": token_budget, "format": format, "session": session}
        body = {"query": query, **options, "filters": _to_filter_body(filters), "shown": list(shown)}
        return self._ask(
            lambda: reply_parsers.parse_context(self._post("/context", body)),
            lambda engine: engine.context(query, **options, filters=filters, shown=shown),
        )

    def forget(self, session: str) -> bool:
        """As `CodeRAG.forget`."""
        path = f"{API_PREFIX}/sessions/{quote(session, safe='')}?root={quote(str(self.root), safe='')}"
        return self._ask(
            lambda: bool(self._client.call("DELETE", path)["known"]), lambda engine: engine.forget(session)
        )

    def read(
        self,
        places: Sequence[str],
        *,
        token_budget: int | None = None,
        format: ContextFormat = "markdown",  # noqa: A002  # as in `CodeRAG`
    ) -> AssembledContext:
        """As `CodeRAG.read`."""
        body = {"places": list(places), "token_budget": token_budget, "format": format}
        return self._ask(
            lambda: reply_parsers.parse_context(self._post("/read", body)),
            lambda engine: engine.read(places, token_budget=token_budget, format=format),
        )

    def ask(self, query: str, *, token_budget: int | None = None, filters: Filters | None = None) -> Answer:
        """As `CodeRAG.ask`."""
        body = {"query": query, "token_budget": token_budget, "filters": _to_filter_body(filters)}
        return self._ask(
            lambda: reply_parsers.parse_answer(self._post("/ask", body)),
            lambda engine: engine.ask(query, token_budget=token_budget, filters=filters),
        )

    async def astream(
        self, query: str, *, token_budget: int | None = None, filters: Filters | None = None
    ) -> AsyncIterator[AnswerEvent]:
        """As `CodeRAG.astream`. A service that breaks off after checked text was yielded is an error."""
        body = {
            "query": query,
            "token_budget": token_budget,
            "filters": _to_filter_body(filters),
            "root": str(self.root),
        }
        if self._local_engine is None:
            has_text = False
            try:
                async for event in self._stream_events(body):
                    has_text = has_text or event.kind == "text"
                    yield event
            except FALLBACK_ERRORS as error:
                if has_text:
                    raise
                _log_fallback(error)
            else:
                return
        async for event in self.local_engine.astream(query, token_budget=token_budget, filters=filters):
            yield event

    def status(self) -> IndexStatus:
        """As `CodeRAG.status`."""
        path = f"{API_PREFIX}/status?root={quote(str(self.root), safe='')}"
        return self._ask(
            lambda: reply_parsers.parse_status(self._client.call("GET", path)), lambda engine: engine.status()
        )

    def definition(self, name: str) -> list[SearchHit]:
        """As `CodeRAG.definition`."""
        return self._ask(
            lambda: [reply_parsers.parse_hit(hit) for hit in self._post("/definition", {"name": name})["hits"]],
            lambda engine: engine.definition(name),
        )

    @property
    def graph(self) -> RemoteGraph:
        """As `CodeRAG.graph`."""
        return RemoteGraph(self._ask, self._post)

    def index(self, *, full: bool = False, progress: Callable[[IndexProgress], None] | None = None) -> IndexReport:
        """As `CodeRAG.index`; joins a running job. An interrupt cancels the job."""
        return self._ask(
            lambda: self._index(progress, full=full), lambda engine: engine.index(full=full, progress=progress)
        )

    # Inside

    def _ask(self, remote: Callable[[], _Result], local: "Callable[[CodeRAG], _Result]") -> _Result:
        """Call the service; fall back to the engine in this process."""
        if self._local_engine is None:
            try:
                result = remote()
            except FALLBACK_ERRORS as error:
                _log_fallback(error)
            except CodeRAGError:
                self._note_served()
                raise
            else:
                self._note_served()
                return result
        return local(self.local_engine)

    def _note_served(self) -> None:
        if self._on_served is not None:
            self._on_served()
            self._on_served = None

    def _post(self, path: str, body: Mapping[str, object]) -> Any:  # noqa: ANN401  # JSON
        fields = {name: value for name, value in body.items() if value is not None}
        return self._client.call("POST", API_PREFIX + path, {"root": str(self.root), **fields})

    async def _stream_events(self, body: Mapping[str, object]) -> AsyncIterator[AnswerEvent]:
        import asyncio  # noqa: PLC0415  # slow; callers that stream have imported it

        fields = {name: value for name, value in body.items() if value is not None}
        events = self._client.stream_events("POST", f"{API_PREFIX}/ask", fields)
        while (event := await asyncio.to_thread(next, events, None)) is not None:
            answer = event.data.get("answer")
            yield AnswerEvent(
                event.data["kind"],
                event.data["text"],
                reply_parsers.parse_answer(answer) if answer else None,
                event.data.get("trace", ()),
            )
            self._note_served()
            if answer:
                return
        raise ServiceError("the service ended an answer before it was complete")

    def _index(self, progress: Callable[[IndexProgress], None] | None, *, full: bool) -> IndexReport:
        job = self._post("/index", {"full": full})
        try:
            for event in self._client.stream_events("GET", f"{API_PREFIX}/jobs/{job['id']}/events"):
                job = event.data
                if progress and job["progress"]:
                    progress(reply_parsers.parse_progress(job["progress"]))
        except KeyboardInterrupt:
            with suppress(CodeRAGError):
                self._client.call("DELETE", f"{API_PREFIX}/jobs/{job['id']}")
            raise
        if job["state"] == "done" and job["report"]:
            return reply_parsers.parse_report(job["report"])
        if job["state"] == "failed":
            raise to_error({"type": job["type"], "detail": job["error"], "hint": job["hint"]})
        raise ServiceError("the run of indexing was cancelled", hint="Run 'coderag index' again.")


def _log_fallback(error: CodeRAGError) -> None:
    _log.info("not using the service: %s", error)


def _to_filter_body(filters: Filters | None) -> dict[str, object] | None:
    if filters is None:
        return None
    complexity = filters.complexity
    return {
        "languages": list(filters.languages),
        "kinds": list(filters.kinds),
        "paths": list(filters.paths),
        "roles": list(filters.roles),
        "complexity": complexity if isinstance(complexity, int) else list(complexity),
        "changed_since": filters.changed_since,
    }
