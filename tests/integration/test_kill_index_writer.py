"""A writer that is killed at any moment leaves a complete generation, and the next writer goes on from it."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from coderag.stores.index_store import IndexStore

KILLS = 22
GENERATIONS = 5  # more than that must have been committed; where the machine is busy, that takes more kills
DIMENSION = 4

# A nursery imports everything once (that takes a second) and forks a writer for each number that it is sent. The writer
# makes generation after generation; before each commit it announces, durably, what the generation will hold.
NURSERY = r"""
import json, os, random, sys
from pathlib import Path
from types import SimpleNamespace
import filelock, lance, lance.fragment, numpy as np, pyarrow.compute, scipy.sparse as sp
from coderag.schema.chunks import FileRecord
from coderag.stores import index_writer, lance_table
from coderag.stores.arrow import build_node_table
from coderag.stores.graph_tables import build_empty_graph, build_node_schema
from coderag.stores.index_store import EmbeddingInfo, FieldCounts, IndexStore

directory, journal = Path(sys.argv[1]), Path(sys.argv[2])
lance_table.MAX_SMALL_FRAGMENTS = 3
index_writer.FLUSH_ROWS = 4
embedding = EmbeddingInfo("fake", "m", 4)


def batch(path, texts, terms):
    nodes = [SimpleNamespace(node_id=f"{path}:{text}", text=text, metadata={"path": path}) for text in texts]
    n, start = len(nodes), len(terms)
    terms += texts
    counts = sp.csr_matrix((np.ones(n, np.float32), (range(n), range(start, start + n))), shape=(n, len(terms)))
    vectors = np.array([[int(text[4:]) % (k + 7) + 1 for k in range(4)] for text in texts], np.float32)
    return build_node_table(nodes), vectors, FieldCounts(counts, counts, counts), terms


def graph_of(tree):
    nodes = [{"kind": "file", "name": text, "path": path} for path in sorted(tree) for text in tree[path]]
    return build_empty_graph()._replace(nodes=pyarrow.Table.from_pylist(nodes, build_node_schema()))


def write_for_ever(rng):
    store = IndexStore(directory)
    while True:
        with store.open_writer(timeout_s=5) as writer:
            if rng.random() < 0.1:
                writer.reset()
            tree, terms = {}, []
            if writer.base:
                paths = writer.base.read_chunks(["path"])["path"].to_pylist()
                for path, text in zip(paths, writer.base.read_texts(range(len(paths)))):
                    tree.setdefault(path, []).append(text)
                terms = list(writer.base.read_terms())
            for _ in range(rng.randint(1, 3)):
                path = f"f{rng.randint(0, 9)}.py"
                writer.remove([path])
                tree.pop(path, None)
                if rng.random() < 0.7:
                    tree[path] = [f"text{rng.randint(0, 10**9)}" for _ in range(rng.randint(1, 5))]
                    writer.add(*batch(path, tree[path], terms))
            pointer = store.read_pointer()
            with journal.open("a") as file:
                file.write(json.dumps([pointer.generation + 1 if pointer else 1, tree]) + "\n")
                file.flush()
                os.fsync(file.fileno())
            files = [FileRecord(path, "indexed", chunks=len(texts)) for path, texts in tree.items()]
            matrix = np.ones((len(files), 4), np.float32)
            writer.commit(files, matrix, matrix, embedding=embedding, build_graph=lambda: graph_of(tree))


for line in sys.stdin:
    if child := os.fork():
        print(child, flush=True)
        os.waitpid(child, 0)
        print("dead", flush=True)
    else:
        write_for_ever(random.Random(int(line)))
"""


def announced(journal: Path) -> dict[int, list[dict[str, list[str]]]]:
    """Return the contents that each generation may have; several if a commit of that number was killed before."""
    contents: dict[int, list[dict[str, list[str]]]] = {}
    for line in journal.read_text().splitlines() if journal.exists() else []:
        generation, tree = json.loads(line)
        contents.setdefault(generation, []).append(tree)
    return contents


def check(store: IndexStore, journal: Path) -> int:
    """The current generation is complete, aligned and one that was announced; return its number."""
    pointer = store.read_pointer()
    if pointer is None:
        return 0
    snapshot = store.open()
    paths = snapshot.read_chunks(["path"])["path"].to_pylist()
    texts = snapshot.read_texts(range(len(snapshot)))
    tree: dict[str, list[str]] = {}
    for path, text in zip(paths, texts, strict=True):
        tree.setdefault(path, []).append(text)
    assert tree in announced(journal)[pointer.generation]
    assert {file.path: file.chunks for file in snapshot.read_files()} == {
        path: len(members) for path, members in tree.items()
    }
    terms = snapshot.read_terms()
    body = snapshot.read_counts().body
    assert [terms[column] for column in body.indices] == texts
    expected = [[int(text[4:]) % (k + 7) + 1 for k in range(DIMENSION)] for text in texts]
    np.testing.assert_array_equal(snapshot.read_vectors(), np.array(expected, np.float32).reshape(-1, DIMENSION))
    nodes = snapshot.read_graph().nodes.select(["path", "name"]).to_pylist()
    assert nodes == [{"path": path, "name": text} for path in sorted(tree) for text in tree[path]]
    return pointer.generation


@pytest.mark.integration
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL")
def test_a_writer_killed_at_any_moment_leaves_a_complete_generation(tmp_path):
    store, journal = IndexStore(tmp_path / ".coderag"), tmp_path / "journal"
    rng = random.Random(7)
    generations = []
    command = [sys.executable, "-c", NURSERY, str(store.directory), str(journal)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as nursery:
        assert nursery.stdin is not None
        assert nursery.stdout is not None
        while len(generations) < KILLS or (generations[-1] <= GENERATIONS and len(generations) < 10 * KILLS):
            nursery.stdin.write(f"{len(generations)}\n")
            nursery.stdin.flush()
            child = int(nursery.stdout.readline())
            time.sleep(rng.uniform(0.01, 0.4))
            os.kill(child, signal.SIGKILL)
            assert nursery.stdout.readline() == "dead\n"
            generations.append(check(store, journal))
        nursery.stdin.close()
    assert generations == sorted(generations)
    assert generations[-1] > GENERATIONS
