"""Whatever is wrong: one clear line, its exit code, no traceback, and the last index intact."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from coderag import CodeRAG
from coderag.errors import (
    ConfigurationError,
    IndexLockedError,
    IndexModelError,
    IndexVersionError,
    IngestionError,
    InvalidQueryError,
    StorageFullError,
    StoreError,
)
from coderag.interfaces.error_table import ERROR_TABLE, INTERRUPTED
from coderag.stores import disk

CHECKOUT = Path(__file__).parents[2]
COMMAND = "from coderag.interfaces.cli.main import run; run()"
NOBODY = 65_534
posix = pytest.mark.skipif(os.name == "nt", reason="POSIX signals, limits and users")
as_root = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root, to become nobody")


class Ended:
    """How a command ended."""

    def __init__(self, code, stdout, stderr):
        self.code, self.stdout, self.stderr = code, stdout, stderr

    def check(self, error, *told):
        """It told one clear line, perhaps with a hint, and its exit code is that of the error."""
        assert self.code == ERROR_TABLE[error].exit_code, self.stderr
        assert self.stdout == ""
        assert "Traceback" not in self.stderr
        first, *rest = self.stderr.splitlines()
        assert first.startswith("error: ")
        assert len(rest) <= 1
        assert all(line.startswith("hint: ") for line in rest)
        for words in told:
            assert words in self.stderr


def start(*arguments, cwd, before=""):
    """Start the command line; `before` is run in its process first."""
    return subprocess.Popen(
        [sys.executable, "-c", f"{before}\n{COMMAND}", *arguments],
        cwd=cwd, env={**os.environ, "PYTHONPATH": str(CHECKOUT)}, text=True, encoding="utf-8",
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def coderag(*arguments, cwd, before=""):
    process = start(*arguments, cwd=cwd, before=before)
    stdout, stderr = process.communicate(timeout=120)
    return Ended(process.returncode, stdout, stderr)


@pytest.fixture
def repository(tmp_path):
    """A small repository, not indexed."""
    root = tmp_path / "shop"
    root.mkdir()
    (root / "cart.py").write_text("def add_to_cart(item):\n    return item\n")
    return root


@pytest.fixture
def rag(repository):
    """The same, indexed."""
    rag = CodeRAG(repository)
    rag.index()
    return rag


def assert_intact(rag, generation=1):
    """The index answers, and is the one that it was."""
    fresh = CodeRAG(rag.root)
    assert [hit.qualified_name for hit in fresh.search("add_to_cart")] == ["add_to_cart"]
    assert fresh.status().generation == generation


# The repository


def test_no_such_path(tmp_path):
    with pytest.raises(IngestionError, match="no such directory"):
        CodeRAG(tmp_path / "nowhere")
    coderag("index", "-C", "nowhere", cwd=tmp_path).check(IngestionError, "nowhere: no such directory")


def test_a_file_instead_of_a_repository(repository):
    with pytest.raises(IngestionError, match="not a directory"):
        CodeRAG(repository / "cart.py")
    coderag("search", "-C", "cart.py", "x", cwd=repository).check(IngestionError, "cart.py: not a directory")


@pytest.fixture
def forbidden(repository):
    """A repository that nobody else may look into, below folders that all may."""
    for folder in repository.parents[:-1]:
        folder.chmod(folder.stat().st_mode | 0o055)
    repository.chmod(0o700)
    return repository


BECOME_NOBODY = f"""
import os, coderag.app, coderag.ingestion.indexer, coderag.graphs.query, coderag.interfaces.cli.indexed_engine
os.setgid({NOBODY})
os.setuid({NOBODY})
"""


@posix
@as_root
def test_a_repository_without_permission(forbidden):
    ask = f"{BECOME_NOBODY}\nfrom coderag import CodeRAG\nCodeRAG({str(forbidden)!r})"
    done = subprocess.run([sys.executable, "-c", ask], cwd="/", capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1] == f"coderag.errors.IngestionError: {forbidden}: permission denied"


@posix
@as_root
def test_a_repository_without_permission_that_is_named(forbidden, tmp_path):
    ended = coderag("index", "-C", str(forbidden), cwd=tmp_path, before=BECOME_NOBODY)
    assert ended.code in (ERROR_TABLE[IngestionError].exit_code, ERROR_TABLE[InvalidQueryError].exit_code)
    assert ended.stderr.startswith("error: ")
    assert str(forbidden) in ended.stderr
    assert "Traceback" not in ended.stderr


@posix
@as_root
def test_a_current_folder_without_permission(forbidden):
    coderag("index", cwd=forbidden, before=BECOME_NOBODY).check(IngestionError, "permission denied")


@posix
@as_root
def test_an_index_that_may_not_be_written(tmp_path, repository):
    for folder in (repository, *repository.parents[:-1]):
        folder.chmod(folder.stat().st_mode | 0o055)
    ended = coderag("index", cwd=repository, before=BECOME_NOBODY)
    ended.check(StoreError, "Permission denied", "hint: ")


def test_a_repository_with_nothing_in_it(tmp_path):
    (tmp_path / "empty").mkdir()
    ended = coderag("search", "password", "--json", cwd=tmp_path / "empty")
    assert (ended.code, json.loads(ended.stdout)["hits"]) == (0, [])
    assert "Traceback" not in ended.stderr


def test_a_repository_without_code(tmp_path):
    (tmp_path / "logo.png").write_bytes(b"\x89PNG\0")
    ended = coderag("ask", "where is the password", "--json", cwd=tmp_path)
    assert (ended.code, json.loads(ended.stdout)["citations"]) == (0, [])
    assert "Traceback" not in ended.stderr


# The question


@pytest.mark.parametrize("query", ["", "   \n", "?"])
def test_a_question_without_words(rag, query):
    for ask in (rag.search, rag.context, rag.ask):
        with pytest.raises(InvalidQueryError):
            ask(query)


@pytest.mark.parametrize("query", [None, 5, b"password"])
def test_a_question_that_is_no_text(rag, query):
    for ask in (rag.search, rag.context, rag.ask):
        with pytest.raises(InvalidQueryError, match="not text"):
            ask(query)


def test_a_number_of_results_that_is_no_number(rag):
    with pytest.raises(InvalidQueryError, match="top_k is '3'"):
        rag.search("password", top_k="3")


def test_an_empty_question_on_the_command_line(rag):
    coderag("search", "", cwd=rag.root).check(InvalidQueryError, "question is empty")


def test_a_question_of_100_kilobytes(rag):
    query = "password hashing " * 6_000
    for ask in (rag.search, rag.context, rag.ask):
        with pytest.raises(InvalidQueryError, match="102,000 bytes"):
            ask(query)
    coderag("search", query, cwd=rag.root).check(InvalidQueryError, "102,000 bytes", "limit")


def test_a_chinese_question_of_100_kilobytes(rag):
    with pytest.raises(InvalidQueryError, match="bytes"):
        rag.search("如何解析配置文件" * 4_500)


def test_a_long_question_within_the_limit(rag):
    assert isinstance(rag.search("add to cart " * 5_000), list)


def test_a_chinese_question_on_the_command_line(rag):
    ended = coderag("search", "购物车在哪里", "--json", cwd=rag.root)
    assert (ended.code, ended.stderr.count("Traceback")) == (0, 0)
    assert json.loads(ended.stdout)["query"] == "购物车在哪里"


@pytest.mark.parametrize(
    "query", ["\x00", "a\x00b", "\ud800 cart", "cart " + "(" * 5_000, "%s {0} ${HOME} \\", "[[[*?**/", "🛒"]
)
def test_strange_characters_in_a_question(rag, query):
    with suppress(InvalidQueryError):
        assert isinstance(rag.search(query), list)


# The settings


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("search:\n  topk: 5\n", "line 2: search.topk: no such key"),
        ("search:\n  top_k: [1\n", "line 3"),
        ("embedding:\n  api_key: ${NOT_SET_HERE}\n", "line 2: the environment variable NOT_SET_HERE is not set"),
    ],
)
def test_a_broken_settings_file(rag, text, told):
    (rag.root / ".coderag.yaml").write_text(text)
    with pytest.raises(ConfigurationError, match=r"\.coderag\.yaml"):
        CodeRAG(rag.root)
    (rag.root / ".coderag.yaml").unlink()
    assert_intact(rag)
    (rag.root / ".coderag.yaml").write_text(text)
    coderag("index", cwd=rag.root).check(ConfigurationError, ".coderag.yaml", told)


# The index


def test_an_index_of_another_format(rag):
    (rag.root / ".coderag" / "v1").rename(rag.root / ".coderag" / "v99")
    with pytest.raises(IndexVersionError, match="format 99"):
        rag.search("cart")
    coderag("status", cwd=rag.root).check(IndexVersionError, "format 99", "hint: ")
    assert rag.index().generation == 1
    assert_intact(rag)
    assert (rag.root / ".coderag" / "v99" / "CURRENT").exists()


def change_pointer(pointer, **fields):
    """Write a valid pointer with other fields, as another version of CodeRAG would."""
    content = json.loads(pointer.read_text()) | fields
    del content["checksum"]
    pointer.write_text(json.dumps(content))


def test_an_index_of_another_tokenizer(rag):
    pointer = rag.root / ".coderag" / "v1" / "CURRENT"
    change_pointer(pointer, tokenizer=0)
    with pytest.raises(IndexVersionError) as caught:
        rag.search("cart")
    assert "coderag index" in caught.value.hint
    assert "tokenizer 0" in rag.index().repaired
    assert_intact(rag, generation=2)


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"generation": "x"}', "\x00"])
def test_a_damaged_pointer(rag, content):
    (rag.root / ".coderag" / "v1" / "CURRENT").write_text(content)
    for ask in (lambda: rag.search("cart"), rag.status):
        with pytest.raises(StoreError, match="damaged") as caught:
            ask()
        assert "coderag index" in caught.value.hint
    rag.index()
    assert [hit.qualified_name for hit in CodeRAG(rag.root).search("add_to_cart")] == ["add_to_cart"]


def test_an_index_that_has_lost_its_files(rag):
    shutil.rmtree(rag.root / ".coderag" / "v1" / "lance")
    fresh = CodeRAG(rag.root)
    for ask in (lambda: fresh.search("cart"), fresh.status):
        with pytest.raises(StoreError) as caught:
            ask()
        assert caught.value.hint
    fresh.index(full=True)
    assert_intact(rag, generation=2)


def test_an_index_of_another_model(rag):
    pointer = rag.root / ".coderag" / "v1" / "CURRENT"
    content = pointer.read_text()
    change_pointer(pointer, embedding={"provider": "ollama", "model": "nomic-embed-text", "dimension": 768})
    fresh = CodeRAG(rag.root)
    with pytest.raises(IndexModelError, match=r"ollama/nomic-embed-text \(768 dimensions\)"):
        fresh.search("cart")
    coderag("search", "cart", cwd=rag.root).check(
        IndexModelError, "ollama/nomic-embed-text", "`coderag index` to switch"
    )
    pointer.write_text(content)
    assert_intact(rag)


def test_a_locked_index(rag):
    """Another process, this one, is writing."""
    with rag._store.open_writer():
        with pytest.raises(IndexLockedError, match=str(os.getpid())):
            rag.index()
        coderag("index", cwd=rag.root).check(IndexLockedError, "being written", str(os.getpid()))
        assert_intact(rag)
    assert rag.index().generation == 1


# The limits of the process


@posix
@pytest.mark.parametrize("limit", [16, 20, 24])
@pytest.mark.parametrize("command", [["index", "--full"], ["search", "cart"]])
def test_a_low_limit_of_open_files_ends_as_an_error(rag, command, limit):
    before = f"import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, ({limit}, {limit}))"
    ended = coderag(*command, cwd=rag.root, before=before)
    assert ended.code != 0
    assert "Traceback" not in ended.stderr
    assert "stack backtrace" not in ended.stderr
    assert "open files" in ended.stderr
    assert_intact(rag)


# The disk


@posix
def test_a_file_size_limit_ends_as_an_error_of_the_store(rag):
    """As near to a full disk as can be had everywhere: no file may grow beyond a few bytes."""
    (rag.root / "new.py").write_text("def new():\n    return 1\n")
    limit = (
        "import resource, signal, coderag.app, coderag.ingestion.indexer, coderag.interfaces.cli.indexed_engine\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (700, 700))"
    )
    ended = coderag("index", cwd=rag.root, before=limit)
    assert ended.code in {ERROR_TABLE[StoreError].exit_code, ERROR_TABLE[StorageFullError].exit_code}, ended.stderr
    assert "Traceback" not in ended.stderr
    assert ended.stderr.startswith("error: ")
    assert_intact(rag)
    assert rag.index().generation == 2


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 256 kB, where one can be made."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = shutil.which("mount") and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if not mounted or mounted.returncode:
        pytest.skip("no file system can be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], capture_output=True, check=True)


def test_a_full_disk(small_disk):
    (small_disk / "cart.py").write_text("def add_to_cart(item):\n    return item\n")
    rag = CodeRAG(small_disk)
    rag.index()
    (small_disk / "filler").write_bytes(b"\0" * (shutil.disk_usage(small_disk).free - 8_192))
    (small_disk / "new.py").write_text("def new():\n    return 1\n")
    with pytest.raises(StorageFullError) as caught:
        rag.index()
    assert "intact" in caught.value.hint
    assert_intact(rag)
    coderag("index", cwd=small_disk).check(StorageFullError, "hint: ")
    (small_disk / "filler").unlink()
    rag.index()
    assert rag.definition("new")


@pytest.mark.parametrize("step", ["replace_file", "sync_directory"])
def test_no_space_left_at_the_commit(rag, monkeypatch, step):
    (rag.root / "new.py").write_text("def new():\n    return 1\n")

    def full(*arguments):
        with disk.map_storage_errors("write"):
            raise OSError(errno.ENOSPC, "No space left on device")

    for module in ("coderag.stores.pointer", "coderag.stores.lexical_files"):
        if hasattr(sys.modules[module], step):
            monkeypatch.setattr(f"{module}.{step}", full)
    with pytest.raises(StorageFullError):
        rag.index()
    assert_intact(rag)
    monkeypatch.undo()
    rag.index()
    assert rag.definition("new")


# Ctrl-C


@posix
@pytest.mark.parametrize("stage", ["scan", "chunk", "commit"])
def test_ctrl_c_in_the_middle(rag, stage):
    """The run stops at a stage and waits there for the signal."""
    (rag.root / "new.py").write_text("def new():\n    return 1\n")
    wait = f"""
import sys, threading, coderag.ingestion.indexer as indexer
def wait(step):
    if step.stage == {stage!r}:
        print("WAITING", file=sys.stderr, flush=True)
        threading.Event().wait(60)
class Indexer(indexer.Indexer):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments[:4], wait, **options)
indexer.Indexer = Indexer
"""
    process = start("index", cwd=rag.root, before=wait)
    deadline = threading.Timer(120, process.kill)
    deadline.start()
    assert process.stderr.readline() == "WAITING\n"
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate()
    deadline.cancel()
    assert (process.returncode, stdout, stderr) == (INTERRUPTED, "", "interrupted; an existing index is intact\n")
    assert_intact(rag)
    assert rag.index().generation == 2
