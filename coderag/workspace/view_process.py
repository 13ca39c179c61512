"""The process that computes views of an index for the web interface, beside searches and indexing.

It reads a request from standard input: the folder of an index and the names of the views. It writes progress and the end
to the original standard output, one JSON object per line. It exits when the input ends: its parent is gone or needs the
views no more, and they can be computed again.
"""

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from coderag.errors import CodeRAGError
from coderag.system.standard_streams import take_streams

if TYPE_CHECKING:
    from coderag.retrieval.projection.projection import Projection, ProjectionMethod
    from coderag.stores.snapshot import Snapshot

PROJECTION: Final = "projection"
GRAPH: Final = "graph"
"""Views: the embedding map; the overviews and layouts of the code graph."""

_NICENESS: Final = 10
_REPORT_S: Final = 0.3


def store_projection(
    snapshot: "Snapshot",
    method: "ProjectionMethod",
    report: Callable[[str, float], None] | None = None,
) -> "Projection":
    """Build the map of a generation, keep it beside the index, and return it.

    Raises:
        ConfigurationError: The extra of the method is not installed.
        StoreError: The index cannot be read.
    """
    from coderag.retrieval.projection.builder import build_projection  # noqa: PLC0415  # only a new map needs it
    from coderag.retrieval.projection.projection import FILE_NAME, Projection  # noqa: PLC0415
    from coderag.stores.view_files import ViewFiles  # noqa: PLC0415

    files = ViewFiles(snapshot.directory, snapshot.pointer)
    previous = Projection.from_arrays(files.read(FILE_NAME)) or Projection.from_arrays(files.read_previous(FILE_NAME))
    projection = build_projection(snapshot, previous, method, report or _ignore)
    with suppress(OSError):  # a full or read-only disk costs only the time of computing it again
        files.write(FILE_NAME, projection.to_arrays())
    return projection


def store_graph_views(snapshot: "Snapshot", report: Callable[[str, float], None] | None = None) -> None:
    """Draw the overviews that an earlier generation has again for this one, and lay out the folders opened there.

    Raises:
        StoreError: The index cannot be read.
    """
    from coderag.codegraph.graph import CodeGraph  # noqa: PLC0415  # as above
    from coderag.codegraph.symbol_graph import SymbolGraph  # noqa: PLC0415
    from coderag.engine.graph_views import GraphViews  # noqa: PLC0415
    from coderag.engine.stored_overviews import StoredOverviews  # noqa: PLC0415
    from coderag.stores.view_files import ViewFiles  # noqa: PLC0415

    (report or _ignore)("graph", 0.0)
    files = ViewFiles(snapshot.directory, snapshot.pointer)
    stored = StoredOverviews(files)
    views = GraphViews(CodeGraph(SymbolGraph(snapshot.read_graph)), files)
    views.lay_out_known()
    for request in stored.list_previous_requests():
        view = views.build_overview(None, request.view_filter, max_nodes=request.max_nodes, max_edges=request.max_edges)
        with suppress(OSError):  # as above
            stored.add(request, view)


def _ignore(stage: str, share: float) -> None:
    """Ignore progress."""


def main() -> None:
    """Compute the views of one request."""
    task_descriptor, reply_descriptor = take_streams()
    if hasattr(os, "nice"):
        with suppress(OSError):
            os.nice(_NICENESS)
    tasks, replies = os.fdopen(task_descriptor, "rb"), os.fdopen(reply_descriptor, "wb")
    request = json.loads(tasks.readline())
    threading.Thread(target=_exit_with_parent, args=(tasks,), daemon=True, name="parent").start()
    try:
        _compute(Path(request["directory"]), request["views"], request["method"], _ProgressThrottle(replies))
        _write(replies, {"done": True})
    except CodeRAGError as error:
        _write(replies, {"error": type(error).__name__, "message": str(error), "hint": error.hint})
    sys.stderr.flush()
    os._exit(0)


def _compute(
    directory: Path, views: list[str], method: "ProjectionMethod", report: Callable[[str, float], None]
) -> None:
    from coderag.stores.index_store import IndexStore  # noqa: PLC0415  # after the streams are taken

    snapshot = IndexStore(directory).open()
    if GRAPH in views:
        store_graph_views(snapshot, report)
    if PROJECTION in views:
        store_projection(snapshot, method, report)


class _ProgressThrottle:
    """Rate limit for progress: a few lines a second, and one for every new stage."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._stage = ""
        self._sent_at = 0.0

    def __call__(self, stage: str, share: float) -> None:
        now = time.monotonic()
        if stage == self._stage and now < self._sent_at + _REPORT_S:
            return
        self._stage, self._sent_at = stage, now
        _write(self._stream, {"stage": stage, "share": round(share, 3)})


def _write(stream: IO[bytes], record: Mapping[str, object]) -> None:
    try:
        stream.write(json.dumps(record).encode() + b"\n")
        stream.flush()
    except OSError:  # the parent is gone
        os._exit(0)


def _exit_with_parent(tasks: IO[bytes]) -> None:
    tasks.read()
    os._exit(0)


if __name__ == "__main__":
    main()
