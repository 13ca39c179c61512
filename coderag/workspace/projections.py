"""Embedding maps of the repositories of a workspace: read, or computed on first demand."""

import json
import logging
import subprocess
import threading
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from coderag.errors import CodeRAGError, ServiceError, find_error_class
from coderag.retrieval.projection.projection import FILE_NAME, Projection
from coderag.stores.pointer import Pointer
from coderag.stores.view_files import ViewFiles
from coderag.system.subprocesses import build_python_command, build_python_environment, describe_exit
from coderag.workspace.projection_process import store_projection

if TYPE_CHECKING:
    from coderag.app import CodeRAG
    from coderag.stores.snapshot import Snapshot

MAX_INLINE_CHUNKS: Final = 3_000
"""A map of so many chunks is computed in the thread that asks: a process takes longer to start."""

_COMMAND: Final = "from coderag.workspace.projection_process import main; main()"
_FLAGS: Final = getattr(subprocess, "CREATE_NO_WINDOW", 0) | getattr(subprocess, "BELOW_NORMAL_PRIORITY_CLASS", 0)
_MAX_LOADED: Final = 4

_Key = tuple[str, tuple[int, str]]

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ProjectionProgress:
    """Progress of a map that is being computed.

    Attributes:
        stage: What is being done.
        share: Share of the stage that is done, 0 to 1.
    """

    stage: str = "starting"
    share: float = 0.0


@dataclass(slots=True)
class _Computation:
    """A process that computes a map."""

    process: "subprocess.Popen[bytes]"
    progress: ProjectionProgress = field(default_factory=ProjectionProgress)


class Projections:
    """Embedding maps of repositories. Thread-safe.

    One process at a time computes; further repositories wait for their next request.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inline_lock = threading.Lock()
        self._loaded: OrderedDict[_Key, Projection] = OrderedDict()
        self._running: dict[_Key, _Computation] = {}
        self._errors: dict[_Key, CodeRAGError] = {}

    def get(self, engine: "CodeRAG") -> tuple[Pointer, Projection | ProjectionProgress]:
        """Return the map of a repository's generation, or the progress of its computation, which is started.

        Raises:
            IndexNotFoundError: Nothing is indexed yet.
            ConfigurationError: The extra of the method is not installed.
            ServiceError: The last computation failed; the next call starts another.
        """
        snapshot = engine.open_generation()
        key = str(snapshot.directory), snapshot.pointer.identity
        method = engine.settings.web.projection
        with self._lock:
            if (error := self._errors.pop(key, None)) is not None:
                raise error
            if (computation := self._running.get(key)) is not None:
                return snapshot.pointer, computation.progress
        projection = self._find(key, snapshot, method)
        if projection is None and len(snapshot) <= MAX_INLINE_CHUNKS:
            with self._inline_lock:
                projection = self._find(key, snapshot, method) or self._keep(key, store_projection(snapshot, method))
        if projection is None:
            return snapshot.pointer, self._start(key, snapshot.directory, method)
        return snapshot.pointer, projection

    def close(self) -> None:
        """End all computations."""
        with self._lock:
            running = list(self._running.values())
        for computation in running:
            with suppress(OSError):
                computation.process.kill()

    def _find(self, key: _Key, snapshot: "Snapshot", method: str) -> Projection | None:
        with self._lock:
            if key in self._loaded and self._loaded[key].info.method == method:
                self._loaded.move_to_end(key)
                return self._loaded[key]
        stored = Projection.from_arrays(ViewFiles(snapshot.directory, snapshot.pointer).read(FILE_NAME))
        if stored is None or stored.info.method != method or len(stored) != len(snapshot):
            return None
        return self._keep(key, stored)

    def _keep(self, key: _Key, projection: Projection) -> Projection:
        with self._lock:
            self._loaded[key] = projection
            while len(self._loaded) > _MAX_LOADED:
                self._loaded.popitem(last=False)
        return projection

    def _start(self, key: _Key, directory: Path, method: str) -> ProjectionProgress:
        with self._lock:
            if self._running:
                return ProjectionProgress("waiting")
            try:
                process = subprocess.Popen(
                    build_python_command(_COMMAND),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    env=build_python_environment(),
                    creationflags=_FLAGS,
                )
            except OSError as error:
                message = f"the process that computes the map cannot be started: {error}"
                raise ServiceError(message, hint="Close other programs, then try again.") from error
            computation = self._running[key] = _Computation(process)
        request = {"directory": str(directory), "method": method}
        threading.Thread(target=self._follow, args=(key, computation, request), daemon=True, name="projection").start()
        return computation.progress

    def _follow(self, key: _Key, computation: _Computation, request: dict[str, str]) -> None:
        """Read the progress of a process until it ends; keep its error."""
        process, error = computation.process, None
        assert process.stdin is not None
        assert process.stdout is not None
        is_done = False
        with process.stdin as tasks, process.stdout as replies, suppress(OSError, ValueError):
            tasks.write(json.dumps(request).encode() + b"\n")
            tasks.flush()
            for line in replies:
                record: dict[str, Any] = json.loads(line)
                if "error" in record:
                    kind = find_error_class(record["error"]) or CodeRAGError
                    error = kind(record["message"], hint=record["hint"])
                elif "done" in record:
                    is_done = True
                else:
                    computation.progress = replace(computation.progress, **record)
        code = process.wait()
        if error is None and not is_done:
            message = f"the process that computes the map ended ({describe_exit(code)})"
            error = ServiceError(message, hint="Try again; if memory ran out, close other programs first.")
        with self._lock:
            self._running.pop(key, None)
            if error is not None:
                self._errors[key] = error
        if error is not None:
            _logger.warning("The map of %s was not computed: %s", request["directory"], error)
