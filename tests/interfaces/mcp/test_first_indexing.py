"""The first call on a repository begins its index, answers with what there is, and tells how far it is."""

import threading

import anyio
import pytest

from coderag.errors import ModelUnavailableError, StorageFullError
from coderag.interfaces.mcp import repositories
from coderag.interfaces.mcp.progress import compute_percent, format_progress
from coderag.schema.indexing import IndexProgress
from coderag.workspace.jobs import JobView
from tests.interfaces.mcp.conftest import connected, data_of, text_of

DEADLINE_S = 20


@pytest.fixture
def new(shop):
    """The shop as if it had no index; its job goes on only as the test says."""
    shop.is_indexed = False
    shop.on_index = lambda repository: repository.progress("chunk", 40, 100)
    shop.previewed = shop.engine.search("checkout", top_k=3)
    return shop


@pytest.fixture
def no_wait(monkeypatch):
    monkeypatch.setattr(repositories, "FIRST_WAIT_S", 0.05)


CALLS = [
    ("coderag_search", {"query": "checkout"}),
    ("coderag_context", {"query": "checkout"}),
    ("coderag_context", {"file_path": "shop/cart.py"}),
    ("coderag_docs", {"query": "checkout"}),
    ("coderag_symbol", {"name": "checkout"}),
    ("coderag_explain", {"name": "checkout"}),
]


@pytest.mark.parametrize(("name", "arguments"), CALLS)
async def test_first_call_answers_with_a_quick_pass(new, no_wait, era, name, arguments):
    async with connected(new, era=era) as client:
        result = await client.call_tool(name, arguments)
    assert not result.is_error
    assert new.started == 1
    assert data_of(result)["indexing"] == "indexing: 27 %"
    assert "indexing: 27 %" in text_of(result)
    assert "def checkout" in text_of(result)


async def test_single_tool_answers_with_a_quick_pass(new, no_wait):
    async with connected(new, profile="single") as client:
        result = await client.call_tool("search_codebase", {"query": "checkout"})
    assert "indexing: 27 %" in text_of(result)


async def test_index_that_is_made_in_a_moment_gives_the_real_results(new):
    new.on_index = lambda repository: repository.finish()
    async with connected(new) as client:
        result = await client.call_tool("coderag_search", {"query": "checkout"})
    assert "indexing" not in data_of(result)
    assert data_of(result)["evidence"] == "found"


async def test_calls_at_once_begin_one_job(new, no_wait):
    async with connected(new) as client, anyio.create_task_group() as group:
        for _ in range(4):
            group.start_soon(client.call_tool, "coderag_search", {"query": "checkout"})
    assert new.started == 1


async def test_progress_is_told_to_who_wants_it(new, era):
    heard = []

    async def listen(progress, total, message):
        heard.append((progress, total, message))
        if len(heard) == 1:
            new.progress("embed", 50, 100)
        elif progress == 76:
            new.finish()

    async with connected(new, era=era) as client:
        with anyio.fail_after(DEADLINE_S):
            await client.call_tool("coderag_index", {"wait_s": 15}, progress_callback=listen)
    assert (76, 100, "indexing: 76 %") in heard
    assert [progress for progress, *_ in heard] == sorted(progress for progress, *_ in heard)


async def test_failed_first_run_is_an_error_with_its_hint(new):
    new.on_index = lambda repository: repository.fail(StorageFullError("no space is left", hint="Free some."))
    async with connected(new) as client:
        result = await client.call_tool("coderag_search", {"query": "checkout"})
    assert result.is_error
    assert "no space is left.\nFree some." in text_of(result)


async def test_failed_run_is_told_by_the_index_tool_and_by_status(new):
    new.on_index = lambda repository: repository.fail(ModelUnavailableError("no answer", hint="Start the server."))
    async with connected(new) as client:
        indexed = await client.call_tool("coderag_index")
        status = await client.call_tool("coderag_status")
    assert indexed.is_error
    assert data_of(status)["job"]["error"] == "no answer"
    assert "Start the server." in text_of(status)


async def test_status_of_a_repository_without_index_begins_none(new):
    async with connected(new) as client:
        result = await client.call_tool("coderag_status")
    assert data_of(result)["indexed"] is False
    assert new.started == 0


async def test_index_tool_returns_while_the_run_goes_on(new):
    async with connected(new) as client:
        result = await client.call_tool("coderag_index", {"wait_s": 0})
    assert data_of(result)["job"]["state"] == "running"
    assert "It goes on" in text_of(result)


async def test_index_tool_tells_what_was_done(shop):
    async with connected(shop) as client:
        result = await client.call_tool("coderag_index", {"full": True})
    assert data_of(result)["counts"]["indexed"] == 3
    assert shop.job.view.full


async def test_cancelled_call_leaves_job_and_server_as_they_are(new, era):
    async with connected(new, era=era) as client:
        begun = anyio.Event()

        async def heard(*_):
            begun.set()

        async with anyio.create_task_group() as group:

            async def wait_long():
                await client.call_tool("coderag_index", {"wait_s": 60}, progress_callback=heard)

            group.start_soon(wait_long)
            with anyio.fail_after(DEADLINE_S):
                await begun.wait()
            group.cancel_scope.cancel()
        assert new.job.view.state == "running"
        new.finish()
        with anyio.fail_after(DEADLINE_S):
            result = await client.call_tool("coderag_search", {"query": "checkout"})
    assert not result.is_error


def test_percent_rises_over_the_stages():
    def at(stage, done, total):
        return compute_percent(JobView("1", "/", False, "running", IndexProgress(stage, done, total)))

    steps = [at("scan", 0, 0), at("chunk", 1, 2), at("chunk", 2, 2), at("embed", 1, 2), at("commit", 0, 1)]
    assert steps == sorted(steps)
    assert steps[-1] < compute_percent(JobView("1", "/", False, "done")) == 100


def test_queued_job_waits_for_its_turn():
    assert format_progress(JobView("1", "/", False, "queued")) == "indexing: waiting for its turn"
    waiting = JobView("1", "/", False, "queued", error="another process writes the index")
    assert format_progress(waiting) == "indexing: waiting for its turn (another process writes the index)"


async def test_search_that_hangs_can_be_cancelled_and_the_server_goes_on(shop, era, monkeypatch):
    searching, release = threading.Event(), threading.Event()

    def hang(*_, **__):
        searching.set()
        assert release.wait(DEADLINE_S)

    monkeypatch.setattr(shop.engine, "search_text", hang)
    async with connected(shop, era=era) as client:
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(client.call_tool, "coderag_search", {"query": "cart", "mode": "exact"})
                assert await anyio.to_thread.run_sync(searching.wait, DEADLINE_S)
                group.cancel_scope.cancel()
            with anyio.fail_after(DEADLINE_S):
                result = await client.call_tool("coderag_search", {"query": "checkout"})
        finally:
            release.set()
    assert not result.is_error
