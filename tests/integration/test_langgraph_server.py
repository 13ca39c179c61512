"""`langgraph dev` serves the query graph: asked by LangGraph's client, with its watch for calls that block the event loop.

It needs ``pip install "langgraph-cli[inmem]"``, which is not among the development packages.
"""

import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from langgraph_sdk import get_client

from coderag import CodeRAG

pytest.importorskip("langgraph_api", reason="langgraph-cli[inmem] is not installed")

ROOT = Path(__file__).resolve().parents[2]
QUESTION = "who calls check_password"


def repository_in(folder):
    (folder / "auth.py").write_text(
        "def check_password(secret):\n    return bool(secret)\n\n\n"
        "def login(name, secret):\n    return name if check_password(secret) else None\n"
    )
    CodeRAG(folder).index()
    return str(folder)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    return repository_in(tmp_path_factory.mktemp("repository"))


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """Serve the graphs of `langgraph.json` on the loopback, from a folder that the server may write in; yield the address."""
    folder, port = tmp_path_factory.mktemp("server"), free_port()
    config = json.loads((ROOT / "langgraph.json").read_text(encoding="utf-8"))
    graphs = {name: str(ROOT / target) for name, target in config["graphs"].items()}
    (folder / "langgraph.json").write_text(json.dumps({**config, "dependencies": [str(ROOT)], "graphs": graphs}))
    options = ["--host", "127.0.0.1", "--port", str(port), "--no-browser", "--no-reload", "--n-jobs-per-worker", "2"]
    server = subprocess.Popen(
        [sys.executable, "-m", "langgraph_cli", "dev", *options],
        cwd=folder,
        env={**os.environ, "LANGGRAPH_CLI_NO_ANALYTICS": "1", "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
    )
    started, said = threading.Event(), []

    def listen():
        for line in server.stdout:
            said.append(line)
            if "Application started" in line:
                started.set()
        started.set()  # or it has ended

    listener = threading.Thread(target=listen)
    listener.start()
    try:
        assert started.wait(timeout=120)
        assert server.poll() is None, "".join(said[-40:])
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(timeout=30)
        listener.join()
        server.stdout.close()


async def test_the_query_graph_is_an_assistant_with_schemas(address):
    async with get_client(url=address) as client:
        (assistant,) = await client.assistants.search(graph_id="query")
        schemas = await client.assistants.get_schemas(assistant["assistant_id"])
    assert "repository" in schemas["input_schema"]["properties"]
    assert "answer" in schemas["output_schema"]["properties"]


async def test_a_run_answers(address, repository):
    async with get_client(url=address) as client:
        output = await client.runs.wait(None, "query", input={"query": QUESTION, "repository": repository})
    assert "`login`" in output["answer"]["text"]
    assert all(citation["verified"] for citation in output["answer"]["citations"])


async def test_a_thread_streams_steps_and_words_and_keeps_the_answer(address, repository):
    words, steps = [], []
    async with get_client(url=address) as client:
        thread = (await client.threads.create())["thread_id"]
        parts = client.runs.stream(
            thread,
            "query",
            input={"query": QUESTION, "repository": repository},
            stream_mode=["custom", "updates"],
            stream_subgraphs=True,
        )
        async for part in parts:
            if part.event.startswith("custom"):
                words += [part.data["text"]] if part.data["kind"] == "text" else []
            elif part.event.startswith("updates"):
                steps += part.data
        kept = (await client.threads.get_state(thread))["values"]
    assert steps == ["analyze", "lookup", "retrieve", "rerank", "expand", "budget", "answer", "query"]
    assert "".join(words) == kept["answer"]["text"] != ""


async def test_a_client_is_told_what_is_wrong_and_what_to_do(address, tmp_path):
    async with get_client(url=address) as client:
        with pytest.raises(Exception, match=r"IndexNotFoundError: .* is not indexed yet. Run `coderag index`"):
            await client.runs.wait(None, "query", input={"query": "x1", "repository": str(tmp_path)})
