"""One repository of a workspace: its engine, and the job that indexes it."""

import threading
from pathlib import Path

from coderag.app import CodeRAG
from coderag.errors import CodeRAGError, IndexNotFoundError
from coderag.schema import SearchHit
from coderag.workspace.jobs import ENDED, IndexJob


class OpenRepository:
    """A repository that is open. It may be used by several threads.

    Args:
        engine: Answers its questions.
        name: In results over several repositories, and to call it by; no other repository of the workspace has it.
    """

    def __init__(self, engine: CodeRAG, name: str) -> None:
        self.engine = engine
        self.name = name
        self._lock = threading.Lock()
        self._job: IndexJob | None = None

    @property
    def root(self) -> Path:
        """Its folder."""
        return self.engine.root

    @property
    def is_indexed(self) -> bool:
        """Whether there is an index that searches can use."""
        try:
            self.engine.definition("")
        except IndexNotFoundError:
            return False
        return True

    @property
    def job(self) -> IndexJob | None:
        """The run of indexing that is under way, or the last one of this process."""
        return self._job

    def index(self, *, full: bool = False) -> IndexJob:
        """Begin to bring the index up to date, and return the job; the one that is under way, if there is one."""
        with self._lock:
            if self._job is None or self._job.view.state in ENDED:
                self._job = IndexJob(str(self.root), full=full, cancel=lambda: None)
                threading.Thread(target=self._run, args=(self._job,), name="index").start()
            return self._job

    def preview(self, query: str, top_k: int) -> list[SearchHit]:
        """Return what a quick pass over the files finds by their words, for a repository that is not indexed yet.

        Raises:
            InvalidQueryError: The question is empty or too long.
        """
        del query, top_k
        return []

    def close(self) -> None:
        """End what runs for it; its job, too."""

    def _run(self, job: IndexJob) -> None:
        job.change({"state": "running"})
        try:
            report = self.engine.index(full=job.view.full, progress=lambda progress: job.change({"progress": progress}))
        except CodeRAGError as error:
            job.error = error
            job.change({"state": "failed", "error": str(error), "hint": error.hint})
        else:
            job.change({"state": "done", "report": report})
