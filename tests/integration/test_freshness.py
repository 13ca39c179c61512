"""Every answer is of the files as they are now, whoever edited them, and whoever holds the writer's lock."""

import asyncio
import os
import subprocess
import sys
import threading
import time

import pytest

from coderag import CodeRAG
from coderag.errors import InvalidQueryError, ModelError
from coderag.ingestion.live import file_watch, rechunking
from coderag.schema.prompts import ModelPrompt
from tests.support.summaries import writing_model

DEADLINE_S = 60
FILES = {
    "shop/pay.py": 'def pay(amount):\n    """Charge the card."""\n    return amount\n',
    "shop/cart.py": "from shop.pay import pay\n\n\ndef check_out(items):\n    return pay(sum(items))\n",
    "shop/stock.py": "def count_stock(shelf):\n    return len(shelf)\n",
    "docs/guide.md": "# Guide\n\nHow to pay.\n",
}
MOVED = '# one\n# two\n\n\ndef pay(amount):\n    """Charge the card."""\n    return amount * 2\n'


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "repo"
    for path, text in FILES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


@pytest.fixture
def rag(root):
    rag = CodeRAG(root, ingestion={"workers": 0})
    rag.index()
    rag.search("pay")  # what is open now is of before the edits
    yield rag
    rag.close()


@pytest.fixture
def unswept(rag):
    """The same, with no look at all files due: edits are seen by what answers stand on, or not."""
    rag._open_index.live._next_sweep = float("inf")
    return rag


@pytest.fixture
def followed(rag, monkeypatch):
    monkeypatch.setattr(file_watch, "_SETTLE_TIMEOUT_S", 5.0)  # the machine may be busy
    rag.follow()
    assert rag._open_index.live._watch.wait_until_started(DEADLINE_S)
    rag.search("pay")
    return rag


def edit_elsewhere(root, path, text):
    """Have another process write a file."""
    code = "import sys, pathlib; pathlib.Path(sys.argv[1]).write_text(sys.argv[2])"
    subprocess.run([sys.executable, "-S", "-c", code, str(root / path), text], check=True)


def places(hits):
    return [(str(hit.path), hit.start_line) for hit in hits]


# What an answer stands on


def test_a_search_right_after_an_edit_has_the_new_lines(unswept, root):
    edit_elsewhere(root, "shop/pay.py", MOVED)
    hit = next(hit for hit in unswept.search("pay") if hit.name == "pay")
    assert (hit.start_line, "amount * 2" in hit.text) == (5, True)
    assert unswept.list_edited() == ["shop/pay.py"]


def test_an_edit_that_keeps_size_and_time_is_seen(unswept, root):
    file = root / "shop/pay.py"
    status = file.stat()
    file.write_text(FILES["shop/pay.py"].replace("return amount", "return AMOUNT"))
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert "AMOUNT" in next(hit for hit in unswept.search("pay") if hit.name == "pay").text


def test_a_context_right_after_an_edit_has_the_new_lines(unswept, root):
    edit_elsewhere(root, "shop/pay.py", MOVED)
    text = unswept.context("how is a card charged").text
    assert "amount * 2" in text
    assert "return amount\n" not in text


def test_an_edit_of_related_code_is_in_the_context(unswept, root):
    edit_elsewhere(root, "shop/cart.py", FILES["shop/cart.py"].replace("def check_out", "# above\ndef check_out"))
    text = unswept.context("pay").text
    assert "shop/cart.py:5-6" in text or "# above" in text


def test_an_answer_right_after_an_edit_cites_the_new_lines(unswept, root):
    edit_elsewhere(root, "shop/pay.py", MOVED)
    answer = unswept.ask("where is pay defined")
    assert "shop/pay.py:5" in answer.text
    assert answer.verified == answer.total > 0


async def test_a_streamed_answer_cites_no_stale_line(unswept, root):
    edit_elsewhere(root, "shop/pay.py", MOVED)
    events = [event async for event in unswept.astream("where is pay defined")]
    text = "".join(event.text for event in events if event.kind == "text")
    assert "shop/pay.py:5" in text
    assert "shop/pay.py:1-3" not in text


class Listening:
    """A language model that keeps what it is shown."""

    name, context_window = "fake/listening", 32_000

    def __init__(self):
        self.prompts = []
        self._model = writing_model()

    async def stream(self, prompt: ModelPrompt):
        self.prompts.append(prompt.text)
        yield "It charges the card [1]."

    async def complete(self, prompt: ModelPrompt):
        self.prompts.append(prompt.text)
        return await self._model.complete(prompt)


def test_a_language_model_is_asked_once_and_shown_the_new_lines_only(rag, root):
    model = Listening()
    reader = CodeRAG(root, ingestion={"workers": 0}, language_model=model)
    reader.search("pay")
    reader._open_index.live._next_sweep = float("inf")
    edit_elsewhere(root, "shop/pay.py", MOVED)
    reader.ask("how is a card charged")
    (prompt,) = model.prompts
    assert "amount * 2" in prompt
    assert "return amount\n" not in prompt


def test_a_deleted_file_drops_out(unswept, root):
    (root / "shop/pay.py").unlink()
    assert not any(path == "shop/pay.py" for path, _ in places(unswept.search("pay")))
    assert not unswept.definition("pay")


def test_reading_lines_of_an_edited_file_gives_those_on_disk(unswept, root):
    edit_elsewhere(root, "shop/pay.py", MOVED)
    assert "amount * 2" in unswept.read(["shop/pay.py:5-7"]).text


def test_reading_a_file_that_was_just_made_needs_no_indexing(unswept, root):
    edit_elsewhere(root, "shop/refund.py", "def refund(): ...\n")
    assert "def refund" in unswept.read(["shop/refund.py"]).text


def test_reading_a_file_that_is_gone_says_so(unswept, root):
    (root / "shop/pay.py").unlink()
    for _ in range(2):
        with pytest.raises(InvalidQueryError, match=r"shop/pay\.py no longer exists"):
            unswept.read(["shop/pay.py"])


def test_a_definition_that_was_just_written_is_found(unswept, root):
    edit_elsewhere(root, "shop/stock.py", FILES["shop/stock.py"] + "\n\ndef reorder(shelf): ...\n")
    assert places(unswept.definition("reorder")) == [("shop/stock.py", 5)]


def test_the_graph_has_a_call_that_was_just_written_where_it_is(unswept, root):
    edit_elsewhere(root, "shop/stock.py", "from shop.pay import pay\n\n\ndef buy():\n    pay(1)\n")
    edit_elsewhere(root, "shop/cart.py", "\n\n" + FILES["shop/cart.py"])
    found = {(one.qualified_name, one.line) for one in unswept.callers("pay")}
    assert found == {("check_out", 7), ("buy", 5)}


def test_text_in_a_new_file_is_found(unswept, root):
    edit_elsewhere(root, "shop/refund.py", "def refund(): ...\n")
    assert list(unswept.search_text("def refund").files) == ["shop/refund.py"]


def test_a_question_in_a_conversation_is_answered_from_the_new_lines(unswept, root):
    chat = unswept.chat()
    chat.ask("where is pay defined")
    edit_elsewhere(root, "shop/pay.py", MOVED)
    assert "shop/pay.py:5" in chat.ask("where is pay defined").text


# With a watch


@pytest.mark.parametrize("path", ["fresh/kiln.py", "fresh/a/b/kiln.py", "lib/inner/other/kiln.py", "lib/kiln.py"])
def test_a_file_in_a_folder_without_indexed_files_is_seen_by_a_new_process(root, path):
    (root / "lib/inner/deep").mkdir(parents=True)
    (root / "lib/inner/deep/wheel.py").write_text("def spin():\n    return 1\n")
    with CodeRAG(root, ingestion={"workers": 0}) as indexing:
        indexing.index()
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text("def fire_kiln(heat):\n    return heat\n")
    with CodeRAG(root, ingestion={"workers": 0}) as asking:
        assert asking.search("fire_kiln")[0].path.as_posix() == path


def test_a_restored_file_is_seen_although_its_folder_was_empty_when_indexing(root):
    lonely = root / "shop/press/lonely.py"
    lonely.parent.mkdir()
    lonely.write_text("def press_once():\n    return 1\n")
    with CodeRAG(root, ingestion={"workers": 0}) as indexing:
        indexing.index()
        text = lonely.read_text()
        lonely.unlink()
        indexing.index()
    lonely.write_text(text)
    with CodeRAG(root, ingestion={"workers": 0}) as asking:
        assert asking.search("press_once")[0].path.as_posix() == "shop/press/lonely.py"
        lonely.unlink()
        asking._open_index.live._next_sweep = 0
        assert all("press" not in hit.path.as_posix() for hit in asking.search("press_once"))


def test_an_ignored_folder_that_changes_costs_no_walk_after_the_first(root, monkeypatch):
    from coderag.ingestion.live import edits

    (root / ".gitignore").write_text("out/\n")
    with CodeRAG(root, ingestion={"workers": 0}) as indexing:
        indexing.index()
    (root / "out").mkdir()
    walks = []
    monkeypatch.setattr(
        edits, "scan", lambda *args, scan=edits.scan, **options: walks.append(1) or scan(*args, **options)
    )
    with CodeRAG(root, ingestion={"workers": 0}) as asking:
        for number in range(4):
            (root / f"out/{number}.py").write_text("def built():\n    return 1\n")
            asking._open_index.live._next_sweep = 0
            assert all(hit.path.as_posix() != f"out/{number}.py" for hit in asking.search("built"))
    assert len(walks) <= 2


def test_a_new_file_is_in_the_very_next_search(followed, root):
    for number in range(3):
        edit_elsewhere(root, f"shop/new{number}.py", f"def brand_new_{number}(): ...\n")
        assert (f"shop/new{number}.py", 1) in places(followed.search(f"brand_new_{number}"))


def test_both_ends_of_a_rename_are_in_the_very_next_search(followed, root):
    (root / "shop").rename(root / "store")
    assert "store/pay.py" in [path for path, _ in places(followed.search("pay"))]
    assert not any(path.startswith("shop/") for path, _ in places(followed.search("pay")))


def test_an_ignored_file_stays_out_and_a_new_rule_takes_files_out(followed, root):
    (root / ".coderagignore").write_text("secret.py\nshop/stock.py\n")
    (root / "secret.py").write_text("def secret_thing(): ...\n")
    assert not followed.definition("secret_thing")
    assert not followed.definition("count_stock")


def test_a_folder_that_is_ignored_no_longer_is_followed_from_then_on(followed, root):
    followed._open_index.live._next_sweep = float("inf")
    (root / ".coderagignore").write_text("build/\n")
    (root / "build").mkdir()
    (root / "build" / "made.py").write_text("def made_thing(): ...\n")
    assert not followed.definition("made_thing")
    followed.search("pay")
    (root / "build" / "made.py").write_text("def made_anew(): ...\n")
    assert not followed.definition("made_anew")
    (root / ".coderagignore").write_text("")
    assert followed.definition("made_anew")
    (root / "build" / "later.py").write_text("def made_later(): ...\n")
    assert followed.definition("made_later")
    (root / "build" / "later.py").write_text("def made_last(): ...\n")
    assert followed.definition("made_last")


def test_edits_are_told_to_who_wants_to_index_them(root):
    told = []
    rag = CodeRAG(root, ingestion={"workers": 0}, on_edited=told.append)
    rag.index()
    rag.search("pay")
    edit_elsewhere(root, "shop/pay.py", MOVED)
    rag.search("pay")
    rag.search("pay")
    assert [list(paths) for paths in told] == [["shop/pay.py"]]


def test_following_twice_and_closing_twice_is_no_error(rag):
    for _ in range(2):
        rag.follow()
    for _ in range(2):
        rag.close()
    assert rag.search("pay")


def test_the_end_of_a_with_ends_following_and_lets_an_error_through(rag):
    with pytest.raises(KeyError), rag as same:
        assert same is rag
        rag.follow()
        watch = rag._open_index.live._watch
        raise KeyError
    assert not watch._thread.is_alive()
    assert rag.search("pay")


# Together with the writer


def test_an_edit_is_seen_while_another_process_writes_the_index(unswept, root):
    code = "import sys; from coderag.stores.index_store import IndexStore; from pathlib import Path\n"
    code += "with IndexStore(Path(sys.argv[1])).open_writer():\n    print('held', flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", code, str(root / ".coderag")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout.readline() == "held\n"
        edit_elsewhere(root, "shop/pay.py", MOVED)
        assert ("shop/pay.py", 5) in places(unswept.search("pay"))
        writer.stdin.close()


def test_when_the_edit_is_indexed_nothing_is_laid_over_the_index_any_more(rag, root):
    edit_elsewhere(root, "shop/pay.py", MOVED)
    before = places(rag.search("pay"))
    rag.index()
    assert places(rag.search("pay")) == before
    assert rag.list_edited() == []


def test_what_was_changed_and_changed_back_is_no_edit(rag, root):
    edit_elsewhere(root, "shop/pay.py", MOVED)
    rag.search("pay")
    edit_elsewhere(root, "shop/pay.py", FILES["shop/pay.py"])
    assert ("shop/pay.py", 1) in places(rag.search("pay"))
    assert rag.list_edited() == []


def test_an_edited_file_is_chunked_once_however_often_it_is_asked_about(rag, root, monkeypatch):
    chunked = []
    original = rechunking.Rechunker._chunk_file
    monkeypatch.setattr(
        rechunking.Rechunker, "_chunk_file", lambda self, one: chunked.append(one.path) or original(self, one)
    )
    rag.search("pay")
    assert chunked == []
    edit_elsewhere(root, "shop/pay.py", MOVED)
    corpora = set()
    for question in ("pay", "check_out", "pay"):
        rag.search(question)
        corpora.add(id(rag._open().corpus))
    assert chunked == ["shop/pay.py"]
    assert len(corpora) == 1


def test_of_many_edits_those_that_an_answer_stands_on_come_first_and_the_rest_is_told(rag, root, monkeypatch, caplog):
    monkeypatch.setattr(rechunking, "MAX_RECHUNKED_FILES", 0)
    rag._open_index.live._next_sweep = float("inf")
    for path in ("shop/pay.py", "shop/cart.py", "shop/stock.py"):
        edit_elsewhere(root, path, "# moved down\n" + FILES[path])
    rag.flag(["shop/pay.py", "shop/cart.py", "shop/stock.py"])
    hit = next(hit for hit in rag.search("count_stock") if hit.name == "count_stock")
    assert hit.start_line == 2
    assert caplog.text.count("changed files have not been read yet") == 1


@pytest.mark.slow
def test_threads_that_ask_while_files_change_and_are_indexed_get_no_error_and_no_stale_line(rag, root):
    errors, stop = [], threading.Event()

    def ask():
        try:
            while not stop.is_set():
                for hit in rag.search("pay amount"):
                    if hit.name == "pay":
                        assert hit.text.startswith("def pay")
                rag.callers("pay")
                asyncio.run(rag.aask("who calls pay"))
        except Exception as error:  # noqa: BLE001  # the test is told
            errors.append(error)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    until = time.monotonic() + 6
    number = 0
    while time.monotonic() < until and not errors:
        number += 1
        (root / "shop/pay.py").write_text("\n" * (number % 7) + FILES["shop/pay.py"])
        if number % 5 == 0:
            rag.index()
    stop.set()
    for thread in threads:
        thread.join(DEADLINE_S)
    assert errors == []
    rag.index()
    assert ("shop/pay.py", number % 7 + 1) in places(rag.search("pay"))


def test_when_the_embedding_model_fails_edited_code_is_found_by_its_words(rag, root, caplog):
    class Failing(type(rag._load_dense_model())):
        def embed_batch(self, batch):
            raise ModelError("the server cannot be reached")

    rag._load_dense_model().__class__ = Failing
    edit_elsewhere(root, "shop/pay.py", MOVED.replace("amount * 2", "surcharge(amount)"))
    assert ("shop/pay.py", 5) in places(rag.search("surcharge"))
    assert "have no vectors until they are indexed" in caplog.text


def test_a_file_that_never_stops_changing_is_left_out_rather_than_cited_stale(unswept, root, monkeypatch):
    refreshed = unswept._open_index.refresh_context

    def edited_meanwhile(*arguments, **options):
        (root / "shop/pay.py").write_text(FILES["shop/pay.py"] + f"# {time.monotonic_ns()}\n")
        return refreshed(*arguments, **options)

    monkeypatch.setattr(
        type(unswept._open_index), "refresh_context", lambda _, *args, **options: edited_meanwhile(*args, **options)
    )
    assert "shop/pay.py" not in [path for path, _ in places(unswept.search("pay"))]


@pytest.mark.parametrize("before", ["# Code generated by x. DO NOT EDIT.\ndef made(): pass\n", "x = 1\n" * 400_000])
def test_a_file_that_was_left_out_for_what_was_in_it_is_seen_once_it_is_another(root, before):
    (root / "shop/late.py").write_text(before)
    with CodeRAG(root, ingestion={"workers": 0, "generated": False}) as rag:
        assert rag.index().files["skipped"] == 1
        (root / "shop/late.py").write_text("from shop.pay import pay\n\n\ndef pay_late():\n    return pay(1)\n")
        rag._open_index.live._next_sweep = 0.0
        assert "pay_late" in {one.qualified_name for one in rag.callers("pay")}


def test_mentions_are_of_the_files_as_they_are_now(rag, root):
    assert [line.line for line in rag.mentions("count_stock").lines] == []
    (root / "shop/cart.py").write_text("# new\nfrom shop.stock import *\n\nlevels = shelf.count_stock\n")
    assert [(line.path, line.line, line.context) for line in rag.mentions("count_stock").lines] == [
        ("shop/cart.py", 4, "code")
    ]
    assert rag.unused("shop/stock.py").results == []
    (root / "shop/cart.py").unlink()
    assert rag.mentions("count_stock").total == 0
    assert [one.qualified_name for one in rag.unused("shop/stock.py").results] == ["count_stock"]
