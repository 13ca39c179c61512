"""Filters over a repository on disk: families of languages, typed paths, and values that match nothing."""

import subprocess

import pytest

from coderag import CodeRAG, Filters
from coderag.errors import InvalidQueryError
from coderag.interfaces.cli.options import resolve_typed_paths

FILES = {
    "web/gauge.ts": "export function readGauge() {\n  return 1;\n}\n",
    "web/Gauge.tsx": "export function Gauge() {\n  return <p>{readGauge()}</p>;\n}\n",
    "web/Panel.vue": '<script setup lang="ts">\nfunction openPanel() { return readGauge(); }\n</script>\n',
    "lib/gauge.py": "def read_gauge():\n    return 1\n",
    "lib/trial.ipynb": (
        '{"cells": [{"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": 1,\n'
        '"source": ["def try_gauge():\\n",\n"    return read_gauge()"]}],\n'
        '"metadata": {"language_info": {"name": "python"}}, "nbformat": 4, "nbformat_minor": 5}\n'
    ),
}


@pytest.fixture(scope="module")
def rag(tmp_path_factory):
    root = tmp_path_factory.mktemp("filtered")
    for path, text in FILES.items():
        file = root / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    subprocess.run(["git", "init", "-q", root], check=True)
    with CodeRAG(root, ingestion={"workers": 0}) as engine:
        engine.index()
        yield engine


@pytest.mark.parametrize(
    ("language", "paths"),
    [
        ("TS", {"web/gauge.ts", "web/Gauge.tsx", "web/Panel.vue"}),
        ("tsx", {"web/Gauge.tsx"}),
        ("py", {"lib/gauge.py", "lib/trial.ipynb"}),
    ],
)
def test_all_searches_take_usual_names_and_families(rag, language, paths):
    filters = Filters(languages=(language,))
    assert {str(hit.path) for hit in rag.search("gauge", filters=filters)} == paths
    assert set(map(str, rag.search_text("auge", filters=filters).files)) == paths


@pytest.mark.parametrize(
    "filters",
    [
        Filters(languages=("rust",)),
        Filters(paths=("libs",)),
        Filters(roles=("vendored",)),
        Filters(languages=("python",), paths=("web",)),
    ],
)
def test_every_query_refuses_a_filter_that_matches_nothing(rag, filters):
    queries = (rag.search, rag.context, rag.ask, rag.explain, rag.search_text)
    for query in queries:
        with pytest.raises(InvalidQueryError) as refused:
            query("gauge", filters=filters)
        assert refused.value.hint


@pytest.mark.parametrize(
    "typed", ["lib\\gauge.py", "{root}/lib/gauge.py", "./lib/gauge.py", "gauge.py", "lib/../lib/gauge.py"]
)
def test_typed_paths_mean_the_same_file(rag, typed):
    filters = Filters(paths=(typed.format(root=rag.root),))
    assert {str(hit.path) for hit in rag.search("gauge", filters=filters)} == {"lib/gauge.py"}
    assert set(map(str, rag.search_text("gauge", filters=filters).files)) == {"lib/gauge.py"}


def test_a_new_file_may_be_filtered_for_at_once(rag):
    file = rag.root / "fresh" / "dial.py"
    file.parent.mkdir()
    file.write_text("def turn_dial():\n    return 3\n")
    try:
        hits = rag.search("turn_dial", filters=Filters(paths=("fresh",)))
        assert [str(hit.path) for hit in hits] == ["fresh/dial.py"]
    finally:
        file.unlink()
        file.parent.rmdir()


@pytest.mark.parametrize(
    ("folder", "typed", "pattern"),
    [
        ("lib", "gauge.py", "lib/gauge.py"),
        ("lib", "!gauge.py", "!lib/gauge.py"),
        ("lib", "../web", "web"),
        ("lib", "../web/*.ts", "web/*.ts"),
        ("lib", "web", "web"),
        ("lib", "absent.py", "absent.py"),
        (".", "lib", "lib"),
        ("..", "{name}/lib", "lib"),
        ("..", "{name}/lib/**/*.py", "lib/**/*.py"),
    ],
)
def test_a_path_below_the_current_folder_is_relative_to_it(rag, monkeypatch, folder, typed, pattern):
    monkeypatch.chdir(rag.root / folder)
    filters = resolve_typed_paths(Filters(paths=(typed.format(name=rag.root.name),)), rag.root)
    assert filters.paths == (pattern,)
