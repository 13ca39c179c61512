"""Files of an index that were damaged on disk: a search ends with results or a clear error, and a run says so."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from coderag import CodeRAG
from coderag.errors import IndexNotFoundError, StoreError
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


@pytest.fixture(scope="module")
def pristine(tmp_path_factory):
    """An indexed repository to copy."""
    root = tmp_path_factory.mktemp("pristine") / "repository"
    root.mkdir()
    for path in sorted((CHECKOUT / "coderag" / "stores").glob("[a-f]*.py")):
        shutil.copy2(path, root)
    (root / "cart.py").write_text("def add_to_cart(item):\n    return item\n")
    CodeRAG(root).index()
    return root


@pytest.fixture
def root(pristine, tmp_path):
    """An indexed repository."""
    root = tmp_path / "repository"
    shutil.copytree(pristine, root)
    CodeRAG(root).index()  # notes the files' new status on disk
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


def cut_short(path):
    os.truncate(path, path.stat().st_size // 2)


def overwrite_with_zeros(path):
    """Overwrite the middle of a file, which keeps its size."""
    content = path.read_bytes()
    middle, length = len(content) // 2, max(len(content) // 4, 16)
    damaged = content[:middle] + bytes(length) + content[middle + length :]
    assert damaged[: len(content)] != content
    path.write_bytes(damaged[: len(content)])


@pytest.mark.parametrize(
    "pattern",
    [
        "lance/chunks.lance/data/*", "lance/edges.lance/data/*", "lance/edges.lance/_versions/*", "lexical-*/counts.npy",
        "lexical-*/columns.npy", "lexical-*/terms.txt", "CURRENT",
    ],
)  # fmt: skip
@pytest.mark.parametrize("damage", [cut_short, overwrite_with_zeros, Path.unlink])
def test_damage_is_told_by_every_reader_and_repaired_by_a_run(root, pattern, damage):
    before = [(hit.path, hit.start_line, hit.score) for hit in CodeRAG(root).search("how is a cart filled")]
    damage(file_of(root, pattern))
    for read in (CodeRAG.status, lambda rag: rag.search("how is a cart filled")):
        with pytest.raises((StoreError, IndexNotFoundError)):
            read(CodeRAG(root))
    report = CodeRAG(root).index()
    assert report.repaired or pattern == "CURRENT"
    assert [(hit.path, hit.start_line, hit.score) for hit in CodeRAG(root).search("how is a cart filled")] == before
    (root / "cart.py").write_text("def add_to_cart(thing):\n    return thing\n")
    assert CodeRAG(root).index().changed == 1
    assert CodeRAG(root).search("add_to_cart")[0].qualified_name == "add_to_cart"


def test_commands_tell_the_damage_and_how_to_repair_it(root):
    overwrite_with_zeros(file_of(root, "lance/chunks.lance/data/*"))
    for arguments in (["status"], ["search", "how is a cart filled"], ["graph", "callers", "add_to_cart"]):
        ended = coderag(*arguments, cwd=root)
        assert ended.returncode == ERROR_TABLE[StoreError].exit_code, (arguments, ended.stderr)
        assert "it was overwritten" in ended.stderr
        assert "Run `coderag index`" in ended.stderr
    examined = coderag("doctor", cwd=root)
    assert examined.returncode != 0
    assert "Run `coderag index`" in examined.stdout
    assert "it was overwritten" in coderag("index", "--plan", cwd=root).stdout
    repaired = coderag("index", cwd=root)
    assert repaired.returncode == 0
    assert "it was overwritten" in repaired.stdout
    assert coderag("status", cwd=root).returncode == 0


def test_an_open_index_tells_damage_of_its_first_query(root):
    rag = CodeRAG(root)
    overwrite_with_zeros(file_of(root, "lance/chunks.lance/data/*"))
    with pytest.raises(StoreError, match="it was overwritten"):
        rag.search("how is a cart filled")
    CodeRAG(root).index()
    assert rag.search("add_to_cart")[0].qualified_name == "add_to_cart"


def test_no_damage_ends_a_search_otherwise_than_with_an_error_of_ours(root):
    ended = subprocess.run(
        [sys.executable, "-c", FUZZ, str(root), str(N_DAMAGES), "1"],
        env=environment(), text=True, capture_output=True, timeout=300, check=False,
    )  # fmt: skip
    last = ended.stdout.splitlines()[-1:]
    assert (ended.returncode, last) == (0, ["done"]), ended.stderr[-2000:]
