"""A repository that answers from memory, and the command line over it as a process of its own.

``python fake_app.py BEHAVIOUR ARGUMENT...`` runs the command line with `FakeCodeRAG(behaviour=BEHAVIOUR)`.
"""

import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from types import MappingProxyType, SimpleNamespace
from typing import TYPE_CHECKING

from coderag.config.sections import IngestionSettings, ServiceSettings, StorageSettings
from coderag.errors import IndexLockedError, IndexNotFoundError, InvalidQueryError, ModelError
from coderag.retrieval.explanation import ExplainedSnippet, Explanation
from coderag.schema.answers import Answer, AnswerEvent, Citation
from coderag.schema.context import AssembledContext, ContextItem, ContextSection, Omission
from coderag.schema.index_plan import EmbeddingPlan, Estimate, Exclusion, FileTotals, IndexPlan
from coderag.schema.indexing import IndexProgress, IndexReport, IndexStatus
from coderag.schema.mentions import Mentions, NameMention, UnusedDeclaration, UnusedReport
from coderag.schema.search import Filters, SearchHit, SearchHits
from coderag.schema.text_matches import TextMatch, TextMatches
from tests.interfaces.fake_graph import FakeGraph

if TYPE_CHECKING:
    from coderag.codegraph.scip.importer import ScipReport

CODE = '''def login(user: str, password: str) -> Session:
    """Open a session for a user whose password is right."""
    if not verify(user, password):
        raise Denied(user)
    return Session(user)
'''

ANSWER = """The login checks the password with `verify` [src/auth/session.py:10-14].

```python
return Session(user)
```
"""


def make_hit(**changes: object) -> SearchHit:
    values: dict[str, object] = {
        "chunk_id": "c1",
        "path": PurePosixPath("src/auth/session.py"),
        "start_line": 10,
        "end_line": 14,
        "kind": "function",
        "name": "login",
        "qualified_name": "auth.session.login",
        "signature": "def login(user: str, password: str) -> Session",
        "summary": "Open a session for a user whose password is right.",
        "language": "python",
        "role": "source",
        "score": 0.91234,
        "text": CODE,
        "signals": MappingProxyType({"definition": 0.5}),
        "channels": {"dense": 1},
    }
    return SearchHit(**{**values, **changes})  # type: ignore[arg-type]


def make_match(**changes: object) -> TextMatch:
    values: dict[str, object] = {
        "path": PurePosixPath("src/auth/session.py"),
        "start_line": 10,
        "start_column": 5,
        "end_line": 10,
        "end_column": 10,
        "text": "def login(user: str, password: str) -> Session:",
        "before": [],
        "after": [],
        "symbol": "auth.session.login",
        "kind": "function",
        "definition": True,
        "language": "python",
        "role": "source",
    }
    return TextMatch(**{**values, **changes})  # type: ignore[arg-type]


def make_mention(**changes: object) -> NameMention:
    values: dict[str, object] = {
        "path": "src/old.py",
        "line": 4,
        "text": "    run(perhaps)",
        "context": "code",
        "symbol": "enter",
        "kind": "function",
        "language": "python",
        "role": "source",
    }
    return NameMention(**{**values, **changes})  # type: ignore[arg-type]


class FakeCodeRAG:
    """Behaves as `coderag.app.CodeRAG`; records the calls.

    Behaviours: ``ok``, ``unindexed``, ``being-indexed`` (by another process), ``partial`` (a file fails), ``stale``, ``weak``,
    ``nothing``, ``hostile`` (control characters in the text), ``huge``, ``waiting`` (indexing never ends), ``switch`` (another
    embedding model is configured), or an exception that all raise. Of the plan also ``fresh``, ``rebuild``, ``priced``,
    ``unpriced`` and ``resumed``.
    """

    def __init__(self, root: Path, behaviour: str | BaseException = "ok") -> None:
        self.root = root
        self.place = str(root)
        self.settings = SimpleNamespace(
            storage=StorageSettings(), service=ServiceSettings(autostart=False), ingestion=IngestionSettings()
        )
        self.behaviour = behaviour
        self.indexed = behaviour not in {"unindexed", "being-indexed"}
        self.calls: list[tuple[str, object]] = []

    def _begin(self, call: str, arguments: object, query: str = "-") -> None:
        self.calls.append((call, arguments))
        if isinstance(self.behaviour, BaseException):
            raise self.behaviour
        if not query.strip():
            raise InvalidQueryError("the query is empty", hint="Ask something.")
        if call not in {"index", "index items", "plan"} and not self.indexed:
            raise IndexNotFoundError(f"{self.root} is not indexed yet", hint="Run 'coderag index'.")

    def index(self, *, full: bool = False, progress: Callable[[IndexProgress], None] | None = None) -> IndexReport:
        self._begin("index", full)
        if self.behaviour == "being-indexed" and len(self.calls) < 4:
            raise IndexLockedError("The index in .coderag is being written by process 7", hint="Wait until it is done.")
        if progress:
            progress(IndexProgress("scan", 3, 0))
            progress(IndexProgress("chunk", 2, 4))
            progress(IndexProgress("embed", 1_234, 0))
            progress(IndexProgress("chunk", 4, 4))
            progress(IndexProgress("embed", 1_300, 2_600))
            progress(IndexProgress("commit", 1, 1))
        if self.behaviour == "waiting":
            sys.stderr.write("WAITING\n")
            sys.stderr.flush()
            threading.Event().wait()
        self.indexed = True
        failed = (("src/broken.py", "cannot be read: permission denied"),) if self.behaviour == "partial" else ()
        return IndexReport(
            generation=3,
            files={"indexed": 1_204, "skipped": 5, "failed": len(failed)},
            chunks=9_001,
            symbols=4_200,
            edges=12_345,
            lines=150_000,
            added=3,
            changed=1,
            removed=0,
            renamed=0,
            unchanged=1_200,
            skipped={"binary": 4, "larger than 1,000,000 bytes": 1},
            failed=failed,
            seconds={"scan": 0.021, "parse": 0.5, "commit": 0.05},
            worker_seconds={"parse": 0.8, "read": 0.0001},
            elapsed_s=0.571,
            bytes_read=4_568,
            lines_read=1_142,
            embedded=9_001 if self.behaviour == "switch" else 12,
            reembedded="the embedding model changed from a/b to c/d" if self.behaviour == "switch" else "",
        )

    @property
    def items(self) -> SimpleNamespace:
        return SimpleNamespace(update=lambda: self._begin("index items", None))

    def plan(self, *, full: bool = False) -> IndexPlan:
        self._begin("plan", full)
        fresh, priced = self.behaviour == "fresh", self.behaviour == "priced"
        tokens = Estimate(1_204_000, 2_345_000)
        remote = EmbeddingPlan("openai", "small", Estimate(9_001, 12_345), tokens)
        if self.behaviour == "resumed":
            remote = replace(remote, cached=3_000)
        if priced:
            remote = replace(remote, price_per_million_tokens=0.02, cost=Estimate(0.02408, 0.0469))
        return IndexPlan(
            root=str(self.root),
            directory=".coderag",
            generation=0 if self.behaviour == "unindexed" else 3,
            rebuild="other model" if self.behaviour == "rebuild" else "",
            total=FileTotals(1_204, 12_345_678),
            to_read=FileTotals() if fresh else FileTotals(4, 20_480),
            new=0 if fresh else 3,
            changed=0 if fresh else 1,
            unchanged=1_200,
            removed=0,
            languages={"python": FileTotals(1_200, 12_300_000), "rust": FileTotals(1, 45_678)},
            folders={"src/auth/": FileTotals(1_100, 9_000_000)},
            excluded=[
                Exclusion("binary file", 12, 0, "logo.png"),
                Exclusion("ignored by .gitignore: out*", 1, 2, "out.txt"),
            ],
            failed=[("locked/", "permission denied")] if self.behaviour == "partial" else [],
            processes=2,
            chunks=Estimate(9_001, 9_040),
            seconds=Estimate(0.31, 0.8) if fresh else Estimate(4.04, 7.96),
            memory=Estimate(410e6, 623e6),
            embedding=remote if self.behaviour in {"priced", "unpriced", "resumed"} else None,
            reembed="the embedding model changes from a/b to c/d" if self.behaviour == "switch" else "",
        )

    def mentions(self, name: str, query: str | None = None, *, limit: int = 20) -> Mentions:
        lines = [make_mention()] if name == "perhaps" or query is None else []
        return Mentions(
            name,
            (name,),
            lines[:limit],
            len(lines),
            len(lines),
            0,
            0,
            0,
            1_204,
            0,
            "simple",
            "Lua: linked within a file.",
        )

    def unused(self, path: str = "", *, limit: int = 50) -> UnusedReport:
        self._begin("unused", (path, limit))
        dead = UnusedDeclaration(
            "src/old.py", 3, 9, "enter", "function", "python", "likely", ("no other line mentions it",), 0
        )
        return UnusedReport(path, [dead], 1, 40, {"an entry point": 2})

    @property
    def graph(self) -> FakeGraph:
        return FakeGraph(self._begin)

    def export_graph(self, to: str) -> Iterator[bytes]:
        self._begin("export_graph", to)
        return iter([b'{"nodes":[', b'"a\x7f\r\n\xc3\xa4"]}\n'])

    def send_graph(self, to: str) -> SimpleNamespace:
        self._begin("send_graph", to)
        return SimpleNamespace(nodes=1_234, edges=5)

    def import_scip(self, path: Path) -> "ScipReport":
        from coderag.codegraph.scip.importer import ScipReport

        self._begin("import_scip", path)
        return ScipReport("scip-python 0.6", 3, 1, {"calls": 1_207, "inherits": 0}, ("src/a.py",), ("lib/b.py",))

    def search(self, query: str, *, top_k: int | None = None, filters: Filters | None = None) -> SearchHits:
        self._begin("search", (query, top_k, filters), query)
        if self.behaviour == "nothing":
            return SearchHits(evidence="not_found", confidence=0.0)
        if self.behaviour == "hostile":
            evil = make_hit(text="a\x1b[2Jb\r\nc\x0cd\x9b31m\n" + "x" * 500, summary="evil\x1b]0;title\x07\u202e")
            return SearchHits([evil])
        second = make_hit(
            chunk_id="c2", start_line=98, end_line=101, name="", qualified_name="", kind="block", summary=""
        )
        if self.behaviour == "weak":
            return SearchHits([make_hit(), second], evidence="weak", confidence=0.3)
        if self.behaviour == "partial":
            missing = ["src/big.py: larger than 1,000,000 bytes"]
            return SearchHits([second], evidence="unknown", confidence=0.2, not_indexed=missing)
        return SearchHits([make_hit(), second])

    def explain(
        self,
        query: str,
        *,
        top_k: int | None = None,
        token_budget: int | None = None,
        filters: Filters | None = None,
    ) -> Explanation:
        self._begin("explain", (query, top_k, token_budget, filters), query)
        evil = "\x1b[2J" if self.behaviour == "hostile" else ""
        first = ExplainedSnippet(
            1, "src/auth/session.py", 10, 14, f"auth.session.login{evil}", "function", 0.912,
            {"dense": 1.0, "lexical": 0.5}, {"dense": 1, "lexical": 12},
            {"lexical": 1.58, "definition": 3.09, "role": -4.57, "callers": 0.001, "reranker": 7.0}, budget="full", tokens=60,
        )  # fmt: skip
        second = replace(first, rank=2, start_line=98, end_line=101, budget="omitted", tokens=90)
        caller = ExplainedSnippet(
            1, "src/web/views.py", 3, 9, "post_login", "function", 0.4, hop=2, relation="caller",
            related_to="auth.session.login", budget="signature", tokens=12,
        )  # fmt: skip
        trace = [
            {"node": "analyze", "start_ns": 1, "ms": 0.25, "detail": {"intent": "general"}},
            {"node": "widen", "start_ns": 2, "ms": 1.5, "detail": {"terms": ["signin", "credential"]}},
        ]
        return Explanation(
            query, "general", 0.5, ["log", "user"], ["signin"], "unknown", 0.31, {"likeness": 0.42},
            ["src/big.py: larger than 1,000,000 bytes"], [first, second], [caller], 72, 8_000, trace,
        )  # fmt: skip

    def search_text(
        self,
        text: str,
        *,
        regex: bool = False,
        ignore_case: bool = False,
        context_lines: int = 0,
        limit: int = 200,
        filters: Filters | None = None,
    ) -> TextMatches:
        self._begin("search_text", (text, regex, ignore_case, context_lines, limit, filters), text)
        mode = "regex" if regex else "exact"
        if self.behaviour == "nothing":
            return TextMatches(text, mode, [], 0, {})
        if self.behaviour == "hostile":
            evil = "x" * 500 + "\x1b[2Jmatch" + "y" * 500
            return TextMatches(
                text, mode, [make_match(text=evil, start_column=505, end_column=510)], 1, {"src/auth/session.py": 1}
            )
        before = ["", "# Sessions"] if context_lines else []
        use = make_match(
            path=PurePosixPath("src/web/views.py"), start_line=30, start_column=14, end_line=31, end_column=2,
            text="    return x(login(\nu))", symbol="", kind="", definition=False,
        )  # fmt: skip
        found = TextMatches(
            text, mode, [make_match(before=before), use], 1_234, {"src/auth/session.py": 1, "src/web/views.py": 1_233}
        )
        if self.behaviour == "stale":
            gone = (("src/gone.py", "no such file or directory"),)
            found = replace(found, complete=False, whitespace_ignored=True, stale=["src/web/views.py"], unread=gone)
        return found

    def context(
        self,
        query: str,
        *,
        token_budget: int | None = None,
        filters: Filters | None = None,
        format: str = "markdown",  # noqa: A002  # as of `CodeRAG`
        shown: Sequence[str] = (),
        session: str | None = None,
    ) -> AssembledContext:
        if format != "markdown" or session:
            self.calls.append(("context options", (format, session)))
        self._begin("context", (query, token_budget, filters), query)
        text = {"hostile": "a\x1b[2Jb\n", "huge": "0123456789\n" * 200_000}.get(
            str(self.behaviour), f"# Code\n\n{CODE}"
        )
        item = ContextItem("c1", "src/auth/session.py", 10, 14, "login", CODE, 60, "full", "python")
        omitted = Omission("src/other.py", 1, 9, "other", 90, "coderag context --file src/other.py:1-9")
        return AssembledContext(
            query,
            "general",
            text,
            [ContextSection("primary", [item], 60)],
            64,
            token_budget or 8_000,
            [omitted],
            "found",
        )

    def read(
        self,
        places: list[str],
        *,
        token_budget: int | None = None,
        format: str = "markdown",  # noqa: A002  # as of `CodeRAG`
    ) -> AssembledContext:
        self.calls.append(("read", (places, token_budget, format)))
        return self.context(", ".join(places), token_budget=token_budget)

    def definition(self, name: str) -> list[SearchHit]:
        self._begin("definition", name)
        return [] if name == "missing" else list(self.search(name))

    def forget(self, session: str) -> bool:
        self.calls.append(("forget", session))
        return session != "none"

    def ask(self, query: str, *, token_budget: int | None = None, filters: Filters | None = None) -> Answer:
        self._begin("ask", (query, token_budget, filters), query)
        if self.behaviour == "nothing":
            return Answer(query, "general", "Nothing found.", [], 0, 0, "not_found", [])
        good = Citation("src/auth/session.py", 10, 14, "abc", verified=True)
        bad = Citation("src/old.py", 1, 2, "def", verified=False, reason="the file has changed")
        citations = [good, bad] if self.behaviour == "weak" else [good]
        evidence = "weak" if self.behaviour == "weak" else "found"
        return Answer(query, "general", ANSWER, citations, 1, len(citations), evidence, [make_hit()])  # type: ignore[arg-type]

    async def astream(
        self, query: str, *, token_budget: int | None = None, filters: Filters | None = None
    ) -> AsyncIterator[AnswerEvent]:
        answer = self.ask(query, token_budget=token_budget, filters=filters)
        for node in ("analyze", "retrieve", "budget"):
            yield AnswerEvent("stage", node)
        for line in answer.text.splitlines(keepends=True):
            yield AnswerEvent("draft", line[:5])
            if self.behaviour == "interrupted":
                raise KeyboardInterrupt
            if self.behaviour == "broken off":
                raise ModelError("the reply broke off")
            yield AnswerEvent("text", line)
        yield AnswerEvent("answer", answer=answer)

    def status(self) -> IndexStatus:
        self._begin("status", None)
        added = [f"src/new_{number}.py" for number in range(12)] if self.behaviour == "stale" else []
        return IndexStatus(
            root=str(self.root),
            directory=".coderag",
            generation=3,
            created="2026-01-02T03:04:05+00:00",
            embedding="embedded",
            files=1_204,
            chunks=9_001,
            symbols=4_200,
            lines=150_000,
            languages={"rust": 4, "python": 1_200},
            edges=7_654,
            linked=["python", "rust"],
            outcomes={"indexed": 1_204, "skipped": 5, "failed": 1},
            skipped={"binary": 4, "larger than 1,000,000 bytes": 1},
            failed=[("src/broken.py", "permission denied")],
            notes=[("src/odd.py", "syntax error in line 3")],
            added=added,
            changed=["src/auth/session.py"] if added else [],
            removed=[],
            configured="ollama/nomic" if self.behaviour == "switch" else "embedded",
        )


def main() -> None:
    from coderag.interfaces.cli import engine_access
    from coderag.interfaces.cli.main import run

    behaviour = sys.argv.pop(1)
    engine_access.open_repository = lambda root: FakeCodeRAG(root, behaviour)  # type: ignore[assignment,return-value]
    run()


if __name__ == "__main__":
    main()
