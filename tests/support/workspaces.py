"""Stand-ins for what a workspace works with: an engine, and what writes indexes."""

import threading
import time
from types import SimpleNamespace

from coderag.config.index_origin import mark_as_own
from coderag.config.settings import Settings
from coderag.errors import IndexNotFoundError
from coderag.schema.indexing import IndexProgress, IndexReport
from coderag.schema.search import SearchHits
from coderag.stores.pointer import EmbeddingInfo, Pointer, write_pointer
from coderag.text.tokenizer import TOKENIZER_VERSION
from coderag.workspace.writer import WriterDiedError

DEADLINE_S = 60.0
REPORT = IndexReport(1, {"indexed": 1}, 1, 1, 0, 3, 1, 0, 0, 0, 0)


def eventually(condition):
    """Wait until something holds."""
    until = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < until, "it never came to hold"
        threading.Event().wait(0.01)


def make_index(root, generation=1, tokenizer=TOKENIZER_VERSION, chunks=0):
    """Make what says that a repository is indexed, by this user."""
    folder = root / ".coderag"
    folder.mkdir(exist_ok=True)
    mark_as_own(folder)
    (folder / "v1").mkdir(parents=True, exist_ok=True)
    embedding = EmbeddingInfo("embedded", "test", 8)
    tables = {"chunks": 1, "files": 1}
    created = f"2026-01-{generation:02}"
    pointer = Pointer(generation, tables, "lexical-1", embedding, tokenizer, created=created, chunks=chunks)
    write_pointer(folder, pointer)


class FakeEngine:
    """Answers what it is told to."""

    def __init__(self, root, found=None, settings=None):
        self.root = root
        self.settings = settings or Settings()
        self.found = found if found is not None else SearchHits()
        self.on_edited = None
        self.follows = 0
        self.is_closed = False
        self.opened = 0

    @property
    def place(self):
        return str(self.root)

    def follow(self):
        self.follows += 1

    def close(self):
        self.is_closed = True

    def with_search(self, search):
        self.opened += 1
        return self

    def search(self, query, *, top_k=None, filters=None):
        if isinstance(self.found, Exception):
            raise self.found
        return self.found


class FakeEngines:
    """Opens fake engines, and remembers all that it opened."""

    def __init__(self):
        self.opened = []
        self.found = {}

    def __call__(self, root, *, trusted, on_edited=None):
        engine = FakeEngine(root, self.found.get(root.name))
        engine.on_edited = on_edited
        engine.trusted = trusted
        self.opened.append(engine)
        return engine

    def of(self, root):
        return next(engine for engine in reversed(self.opened) if engine.root == root)


class FakeWriter:
    """Does tasks by calling a function, which may wait until it is killed.

    Args:
        act: Given the task and the writer; its result or exception is that of the task.
    """

    def __init__(self, act=lambda task, writer: REPORT):
        self.act = act
        self.tasks = []
        self.killed = threading.Event()
        self.is_closed = False

    @property
    def is_alive(self):
        return not self.killed.is_set() and not self.is_closed

    def run_task(self, task, progress):
        self.tasks.append(task)
        progress(IndexProgress("scan", 0, 0))
        return self.act(task, self)

    def wait_for(self, event):
        """Wait as a run does that takes its time; raise if it is killed meanwhile."""
        until = time.monotonic() + DEADLINE_S
        while not event.is_set():
            assert time.monotonic() < until
            if self.killed.wait(0.005):
                raise WriterDiedError("killed")

    def kill(self):
        self.killed.set()

    def close(self):
        self.is_closed = True


class FakeWriters:
    """Starts fake writers, and remembers all that it started."""

    def __init__(self, act=lambda task, writer: REPORT):
        self.act = act
        self.started = []

    def __call__(self):
        self.started.append(FakeWriter(self.act))
        return self.started[-1]

    @property
    def tasks(self):
        return [task for writer in self.started for task in writer.tasks]


def not_indexed(root):
    return IndexNotFoundError(f"{root} is not indexed yet", hint="Run `coderag index` there first.")


def hit(name, score=1.0):
    return SimpleNamespace(name=name, score=score)
