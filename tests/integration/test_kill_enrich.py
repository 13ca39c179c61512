"""`coderag enrich` killed at any moment loses at most what is under way, and no finished work is done again."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from coderag import CodeRAG
from tests.loopback.summary_server import SummaryServer
from tests.support.indexes import assert_same_index
from tests.support.summaries import sentence_on

CHECKOUT = Path(__file__).parents[2]
FUNCTIONS = 36
BATCH = 3
STEPS = (1, 3, 5)  # requests after which each run is killed

SETTINGS = """
ingestion: {{chunk: {{min_tokens: 0}}, workers: 0}}
llm: {{provider: ollama, base_url: "{url}"}}
summaries: {{batch: {batch}, commit_every: 6}}
"""


@pytest.fixture
def server():
    with SummaryServer() as server:
        yield server


@pytest.fixture
def root(tmp_path, server):
    root = tmp_path / "repo"
    root.mkdir()
    (root / ".coderag.yaml").write_text(SETTINGS.format(url=server.url, batch=BATCH))
    for file in range(4):
        functions = (
            f"def step_{file}_{number}(item):\n    return prepare(item, {number})\n\n\n"
            for number in range(FUNCTIONS // 4)
        )
        (root / f"part{file}.py").write_text("".join(functions))
    CodeRAG(root).index()
    return root


def start(root):
    return subprocess.Popen(
        [sys.executable, "-m", "coderag", "enrich", "-C", str(root)],
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def kill_after(process, server, requests):
    """Kill a run as soon as the server has got so many more requests."""
    wanted = len(server.titles) + requests
    ends = time.monotonic() + 120
    while len(server.titles) < wanted and process.poll() is None and time.monotonic() < ends:
        time.sleep(0.001)
    process.kill()
    process.wait()
    assert len(server.titles) >= wanted, "it ended before it could be killed"


def summaries_of(rag):
    rows = rag._store.open().read_chunks(["name", "summary", "summary_source"]).to_pylist()
    return {row["name"]: row["summary"] for row in rows if row["summary_source"] == "llm"}


@pytest.mark.slow
def test_killed_runs_lose_at_most_a_batch_each_and_repeat_nothing(root, server):
    for step in STEPS:
        kill_after(start(root), server, step)
        rag = CodeRAG(root)
        rag.search("prepare a step")  # whatever was committed is whole
        assert all(
            text == sentence_on(f"function {name}") for name, text in summaries_of(rag).items() if "step" in name
        )
    report = CodeRAG(root).enrich()
    assert report.remaining == 0
    asked = Counter(title for titles in server.titles for title in titles if title.startswith("function"))
    assert len(asked) == FUNCTIONS
    assert sum(asked.values()) - FUNCTIONS <= BATCH * len(STEPS)
    before = len(server.titles)
    CodeRAG(root).enrich()
    assert len(server.titles) == before
    rag = CodeRAG(root)
    snapshot = rag._store.open()
    rag.index(full=True)
    assert_same_index(snapshot, rag._store.open())


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows sends no SIGINT to one process")
def test_ctrl_c_ends_a_run_in_good_order(root, server):
    process = start(root)
    ends = time.monotonic() + 120
    while len(server.titles) < 2 and time.monotonic() < ends:
        time.sleep(0.001)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    assert summaries_of(CodeRAG(root))
