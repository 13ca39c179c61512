"""A first run that is killed in the middle is not begun anew: what it had parsed is taken from the cache."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from coderag.app import CodeRAG
from coderag.stores.content_cache import ContentCache
from tests.support.indexes import assert_same_index

CHECKOUT = Path(__file__).parents[2]
FILES = 20
JOB_BYTES = 30_000  # two jobs or more, however many workers there are
JOBS_BEFORE = 1

KILLED = f"""
import os, signal, sys
from coderag.app import CodeRAG
from coderag.ingestion import indexer
from coderag.stores.index_writer import IndexWriter

indexer._MAX_JOB_BYTES = {JOB_BYTES}
added = []
add = IndexWriter.add

def add_or_die(self, *arguments):
    if len(added) == {JOBS_BEFORE}:
        os.kill(os.getpid(), signal.SIGKILL)
    added.append(1)
    return add(self, *arguments)

IndexWriter.add = add_or_die
CodeRAG(sys.argv[1], ingestion={{"workers": int(sys.argv[2])}}).index()
"""


def write_files(root):
    for number in range(FILES):
        functions = (f"def step_{number}_{line}(item):\n    return prepare_{number}(item)\n" for line in range(40))
        (root / f"m{number:03}.py").write_text("\n\n".join(functions))


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="SIGKILL")
@pytest.mark.parametrize("workers", [0, 2])
def test_a_killed_first_run_is_gone_on_with(tmp_path, monkeypatch, workers):
    root = tmp_path / "repo"
    root.mkdir()
    write_files(root)
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    killed = subprocess.run([sys.executable, "-c", KILLED, root, str(workers)], env=environment, check=False)
    assert killed.returncode == -signal.SIGKILL
    rag = CodeRAG(root, ingestion={"workers": workers})
    assert rag._store.read_pointer() is None

    fresh = []
    put = ContentCache.put
    monkeypatch.setattr(
        ContentCache, "put", lambda self, namespace, items: fresh.extend(items) or put(self, namespace, items)
    )
    report = rag.index()
    assert report.files == {"indexed": FILES}
    assert 0 < len(fresh) < FILES  # what was parsed

    clean = CodeRAG(root, ingestion={"workers": workers}, storage={"directory": str(tmp_path / "clean")})
    clean.index()
    assert_same_index(rag._store.open(), clean._store.open())
