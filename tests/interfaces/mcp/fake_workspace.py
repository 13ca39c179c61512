"""A workspace over real engines, whose jobs the test runs itself."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from coderag.app import CodeRAG
from coderag.errors import ForbiddenRootError, IngestionError
from coderag.schema.indexing import IndexProgress, IndexReport
from coderag.schema.search import SearchHits
from coderag.workspace.jobs import ENDED_STATES, IndexJob
from coderag.workspace.results import (
    KnownRepository,
    RepositoryEvent,
    RepositoryHit,
    RepositoryVerdict,
    WorkspaceHits,
)
from coderag.workspace.source_hints import may_have_source

REPORT = IndexReport(1, {"indexed": 3, "skipped": 1}, 5, 4, 2, 30, 3, 0, 0, 0, 0, elapsed_s=0.5)


@dataclass
class FakeRepository:
    """An open repository; `steps` is what its next job does, step by step, each when `release` is called."""

    engine: CodeRAG
    name: str
    is_indexed: bool = True
    job: IndexJob | None = None
    previewed: SearchHits = field(default_factory=SearchHits)
    on_index: Callable[["FakeRepository"], None] = lambda self: self.finish()
    started: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def root(self) -> Path:
        return self.engine.root

    @property
    def place(self) -> str:
        return str(self.engine.root)

    def index(self, *, full=False):
        with self.lock:
            if self.job is None or self.job.view.state in ENDED_STATES:
                self.started += 1
                self.job = IndexJob(str(self.root), full=full, cancel=lambda: None)
                self.on_index(self)
            return self.job

    def find_preview_hits(self, query, top_k):
        return self.previewed[:top_k]

    def progress(self, stage, done, total):
        self.job.update({"state": "running", "progress": IndexProgress(stage, done, total)})

    def finish(self):
        self.is_indexed = True
        self.job.update({"state": "done", "report": REPORT})

    def fail(self, error):
        self.job.error = error
        self.job.update({"state": "failed", "error": str(error), "hint": error.hint})


class FakeWorkspace:
    """Has some repositories; a folder that is none of them is forbidden."""

    def __init__(self, *repositories):
        self.repositories = {str(one.root): one for one in repositories}
        self.listeners = []
        self.closed = threading.Event()

    def may_have_source(self, scope):
        """Return whether a repository may have a source."""
        return any(may_have_source(Path(root), scope) for root in self.repositories)

    def hide_folders(self, error):
        """The caller may see all folders."""

    def open_repository(self, root):
        repository = self.repositories.get(str(root)) or next(
            (entry for entry in self.repositories.values() if entry.name == str(root)), None
        )
        if repository is None:
            if not Path(root).is_dir():
                raise IngestionError(f"{root} does not exist", hint="Name a folder.")
            raise ForbiddenRootError(f"{root} is outside the allowed folders", hint="Start with --allow-root.")
        return repository

    def list_repositories(self):
        return [
            KnownRepository(entry.name, str(entry.root), "2026-01-01", True, entry.is_indexed)
            for entry in self.repositories.values()
        ]

    def search(self, query, repositories, *, top_k=None, filters=None):
        hits, verdicts = [], []
        for root in repositories:
            repository = self.open_repository(root)
            results = repository.engine.search(query, top_k=top_k, filters=filters)
            hits += [RepositoryHit(repository.name, str(repository.root), hit) for hit in results]
            verdicts.append(
                RepositoryVerdict(
                    repository.name,
                    str(repository.root),
                    results.evidence,
                    results.confidence,
                    notes=results.notes,
                )
            )
        hits.sort(key=lambda repository: -repository.hit.score)
        return WorkspaceHits(hits, verdicts)

    def listen(self, listener):
        self.listeners.append(listener)
        return lambda: self.listeners.remove(listener)

    def notify(self, kind, root):
        for listener in list(self.listeners):
            listener(RepositoryEvent(kind, str(root)))
