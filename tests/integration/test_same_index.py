"""The index is the same, whichever way its files are indexed."""

import shutil
import sys
from pathlib import Path

import pytest
from llama_index.core.schema import TransformComponent

from coderag.app import CodeRAG
from coderag.ingestion.parsing.languages import LANGUAGES
from tests.support.indexes import assert_same_index

FIXTURES = Path(__file__).parents[1] / "fixtures" / "repos"
CRASHING = [name for name, language in LANGUAGES.items() if language.crashes]  # parsed by worker processes only


class Same(TransformComponent):
    """Changes nothing."""

    def __call__(self, nodes, **kwargs):
        return nodes


SAME = f"{__name__}:Same"


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    root = tmp_path_factory.mktemp("same") / "repo"
    ignored = shutil.ignore_patterns("expected.json")
    for folder in FIXTURES.iterdir():
        if folder.name not in CRASHING:
            shutil.copytree(folder, root / folder.name, ignore=ignored)
    (root / "empty.py").touch()
    (root / "broken.py").write_text("def f(:\n  x = = 1\n")
    (root / "copy.py").write_text((root / "broken.py").read_text())
    return root


def indexed(root, directory, **arguments):
    storage = {"directory": str(directory), **arguments.pop("storage", {})}
    rag = CodeRAG(root, storage=storage, **arguments)
    rag.index()
    return rag._store.open()


@pytest.fixture(scope="module")
def reference(root, tmp_path_factory):
    """The index as one process makes it, without a cache."""
    snapshot = indexed(root, tmp_path_factory.mktemp("reference"), ingestion={"workers": 0}, storage={"cache_bytes": 0})
    assert len({record.language for record in snapshot.read_files()}) > 20
    return snapshot


@pytest.mark.parametrize("cache", [0, 10**9], ids=["without cache", "with cache"])
@pytest.mark.parametrize("workers", [0, 1, 3])
def test_any_number_of_workers_makes_the_same_index(root, reference, tmp_path, workers, cache):
    snapshot = indexed(root, tmp_path, ingestion={"workers": workers}, storage={"cache_bytes": cache})
    assert_same_index(snapshot, reference)


@pytest.mark.parametrize("workers", [0, 2])
def test_the_cache_makes_the_same_index(root, reference, tmp_path, workers):
    other = indexed(root, tmp_path, ingestion={"workers": workers}, project="another")
    snapshot = indexed(root, tmp_path, ingestion={"workers": workers})
    assert snapshot.pointer.generation == 2
    assert_same_index(snapshot, reference)
    assert len(other) == len(snapshot)


@pytest.mark.parametrize("workers", [0, 2])
def test_the_llama_index_pipeline_makes_the_same_index(root, reference, tmp_path, workers):
    assert SAME.partition(":")[0] in sys.modules
    snapshot = indexed(root, tmp_path, ingestion={"workers": workers, "transformations": (SAME,)})
    assert_same_index(snapshot, reference)
