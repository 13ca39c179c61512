"""Files of an index that were damaged on disk: a search ends with results or a clear error, and a run says so."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from coderag import CodeRAG
from coderag.errors import StoreError
from coderag.interfaces.error_table import ERROR_TABLE

CHECKOUT = Path(__file__).parents[2]
COMMAND = "from coderag.interfaces.cli.main import run; run()"
N_DAMAGES = 120

# Damages one file after the other, each time searches in an index opened anew, and puts the file right again. It is a
# process of its own, since native code that trusts a damaged file may end it: the last line then tells which it was.
FUZZ = """
import random, sys
from pathlib import Path
from coderag import CodeRAG
from coderag.errors import CodeRAGError
root, number, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
chance = random.Random(seed)
files = sorted(path for path in (root / ".coderag/v1").rglob("*") if path.is_file() and path.stat().st_size)
for _ in range(number):
    path = chance.choice(files)
    content = path.read_bytes()
    damaged = bytearray(content)
    if chance.random() < 0.3:
        del damaged[chance.randrange(len(content)):]
        print("cut", path, len(damaged), flush=True)
    else:
        length = chance.choice([1, 4, 64])
        anywhere, near = chance.randrange(len(content)), chance.randrange(min(len(content), 300))
        place = chance.choice([anywhere, near, len(content) - 1 - near])
        damaged[place:place + length] = chance.randbytes(min(length, len(content) - place))
        print("overwritten", path, place, length, flush=True)
    path.write_bytes(damaged)
    try:
        rag = CodeRAG(root)
        for question in ("how is a cart filled", "add_to_cart"):
            rag.search(question)
    except CodeRAGError:
        pass
    path.write_bytes(content)
print("done")
"""


@pytest.fixture
def root(tmp_path):
    """An indexed repository."""
    root = tmp_path / "repository"
    shutil.copytree(CHECKOUT / "coderag" / "stores", root, ignore=shutil.ignore_patterns("__pycache__"))
    (root / "cart.py").write_text("def add_to_cart(item):\n    return item\n")
    CodeRAG(root).index()
    return root


def environment():
    return {**os.environ, "PYTHONPATH": str(CHECKOUT)}


def coderag(*arguments, cwd):
    return subprocess.run(
        [sys.executable, "-c", COMMAND, *arguments],
        cwd=cwd, env=environment(), text=True, capture_output=True, timeout=120, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip


def file_of(root, pattern):
    return max((root / ".coderag/v1").glob(pattern), key=lambda path: path.stat().st_size)


@pytest.mark.parametrize(
    "pattern",
    ["lance/chunks.lance/data/*", "lance/edges.lance/_versions/*", "lexical-*/columns.npy", "lexical-*/terms.txt"],
)
def test_a_file_that_was_cut_short_is_told_by_every_command(root, pattern):
    os.truncate(file_of(root, pattern), 500)
    for arguments in (["index"], ["index", "--plan"], ["status"], ["search", "how is a cart filled"]):
        ended = coderag(*arguments, cwd=root)
        assert ended.returncode == ERROR_TABLE[StoreError].exit_code, (arguments, ended.stderr)
        assert "coderag index --full" in ended.stderr
    examined = coderag("doctor", cwd=root)
    assert examined.returncode != 0
    assert "coderag index --full" in examined.stdout
    assert coderag("index", "--full", cwd=root).returncode == 0
    (root / "cart.py").write_text("def add_to_cart(thing):\n    return thing\n")
    assert coderag("index", cwd=root).returncode == 0
    assert CodeRAG(root).search("add_to_cart")[0].qualified_name == "add_to_cart"


def test_a_file_that_came_back_is_used_again(root):
    path = file_of(root, "lance/chunks.lance/data/*")
    hidden = path.rename(root.parent / "hidden")
    with pytest.raises(StoreError):
        CodeRAG(root).index()
    hidden.rename(path)
    assert CodeRAG(root).index().generation == 1
    assert CodeRAG(root).search("add_to_cart")[0].qualified_name == "add_to_cart"


def test_no_damage_ends_a_search_otherwise_than_with_an_error_of_ours(root):
    ended = subprocess.run(
        [sys.executable, "-c", FUZZ, str(root), str(N_DAMAGES), "1"],
        env=environment(), text=True, capture_output=True, timeout=300, check=False,
    )  # fmt: skip
    last = ended.stdout.splitlines()[-1:]
    assert (ended.returncode, last) == (0, ["done"]), ended.stderr[-2000:]
