"""What each command loads: the time that a command takes on a small repository is that of its imports."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from coderag import CodeRAG

CODE = "def login(name):\n    return session(name)\n\n\ndef session(name):\n    return name\n"

READING = frozenset(
    {"pandas", "scipy", "langgraph", "httpx", "tree_sitter", "llama_index", "lancedb", "urllib.request"}
)
"""What looking into an index needs nothing of."""

FINDING = frozenset({"pandas", "langgraph", "langchain_core", "tree_sitter", "llama_index.core", "lancedb"})
"""What looking for something needs nothing of."""

NEVER = {
    "index": READING
    | {"lance", "coderag.codegraph.incremental_build", "coderag.ingestion.workers.jobs"},  # nothing has changed
    "status": READING | {"coderag.ingestion.indexer"},
    "graph callers session": READING,
    "search login": FINDING | {"scipy.linalg", "coderag.answering.answers"},
    "context login": FINDING,
}


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An indexed repository."""
    root = tmp_path_factory.mktemp("repository")
    (root / "login.py").write_text(CODE, encoding="utf-8")
    rag = CodeRAG(root, ingestion={"workers": 0})
    ends = time.monotonic() + 30
    while rag.index().bytes_read and time.monotonic() < ends:
        time.sleep(0.05)  # a file that was written right before it was indexed is read once more
    return root


@pytest.mark.parametrize("command", NEVER)
def test_a_command_loads_only_what_it_needs(environment: dict[str, str], indexed: Path, command: str) -> None:
    script = f"""
import atexit, sys
atexit.register(lambda: print("LOADED", [name for name in {sorted(NEVER[command])!r} if name in sys.modules], file=sys.stderr))
sys.argv = ["coderag", *{command.split()!r}, "-C", {str(indexed)!r}]
from coderag.interfaces.cli.main import run
run()
"""
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr.endswith("LOADED []\n"), done.stderr
