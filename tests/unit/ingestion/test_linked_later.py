"""A large first index is committed before it is linked: it can be searched meanwhile, and ends as if linked at once."""

import pytest

from coderag import CodeRAG
from coderag.codegraph.code_graph_builder import CodeGraphBuilder
from coderag.errors import IndexLockedError
from coderag.ingestion import indexer
from tests.support.corpora import write_files

CODE = {
    "shop/money.py": 'def round_up(value):\n    """Round a value up."""\n    return int(value + 0.5)\n',
    "shop/cart.py": (
        "from shop.money import round_up\n\n\nclass Cart:\n    def total(self):\n        return round_up(self.sum)\n"
    ),
    "README.md": "# Shop\n\n`Cart` sums up.\n",
}
NOTE = "the code graph is not linked yet, so callers, callees and other relations are missing"


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setattr(indexer, "_LINKED_LATER_LINES", 1)
    return write_files(tmp_path / "shop", CODE)


def read_index(root):
    """Return what a generation has, but for its number and times."""
    with CodeRAG(root) as rag:
        snapshot = rag._open_index.open_generation()
        graph = snapshot.read_graph()
        tables = {name: getattr(graph, name).to_pylist() for name in ("nodes", "edges")}
        facts = snapshot.read_facts().to_pylist()
        return tables, facts, snapshot.read_chunks(["id", "path"]).to_pylist(), snapshot.pointer.root_hash


def while_linking(monkeypatch, act):
    """Call a function once, when the graph of a generation is about to be linked."""
    build, actions = CodeGraphBuilder.build, [act]

    def build_after(builder, *args, **options):
        if actions:
            actions.pop()()
        return build(builder, *args, **options)

    monkeypatch.setattr(CodeGraphBuilder, "build", build_after)


def test_it_can_be_searched_while_it_is_linked(root, monkeypatch):
    seen = {}

    def act():
        with CodeRAG(root) as reader:
            hits = reader.search("round a value up")
            seen["names"], seen["notes"] = [hit.name for hit in hits], hits.notes
            seen["answer"] = reader.ask("what does round_up do?")
            with pytest.raises(IndexLockedError, match="not linked yet") as raised:
                reader.callers("round_up")
            seen["retryable"] = raised.value.retryable

    while_linking(monkeypatch, act)
    stages = []
    with CodeRAG(root) as rag:
        report = rag.index(progress=lambda step: stages.append(step.stage))
        hits = rag.search("round a value up")
        callers = [caller.qualified_name for caller in rag.callers("round_up")]
    assert "round_up" in seen["names"]
    assert (NOTE in seen["notes"], NOTE in seen["answer"].notes, seen["retryable"]) == (True, True, True)
    assert report.generation == 2
    assert 0 < report.searchable_s < report.elapsed_s
    assert stages[-3:] == ["commit", "link", "commit"]
    assert callers == ["Cart.total"]
    assert NOTE not in hits.notes


def test_it_ends_as_if_it_was_linked_at_once(root, tmp_path, monkeypatch):
    with CodeRAG(root) as rag:
        rag.index()
    monkeypatch.undo()
    at_once = write_files(tmp_path / "other" / "shop", CODE)
    with CodeRAG(at_once) as rag:
        report = rag.index()
    assert (report.generation, report.searchable_s) == (1, 0.0)
    assert read_index(root) == read_index(at_once)


def test_a_run_that_ends_while_linking_is_completed_by_the_next(root, tmp_path, monkeypatch):
    with monkeypatch.context() as patch, CodeRAG(root) as rag:

        def fail():
            raise KeyboardInterrupt

        while_linking(patch, fail)
        with pytest.raises(KeyboardInterrupt):
            rag.index()
    with CodeRAG(root) as rag:
        assert "round_up" in [hit.name for hit in rag.search("round a value up")]
        report = rag.index()
        assert [caller.qualified_name for caller in rag.callers("round_up")] == ["Cart.total"]
    assert (report.added, report.unchanged, report.embedded) == (0, len(CODE), 0)
    monkeypatch.undo()
    at_once = write_files(tmp_path / "other" / "shop", CODE)
    with CodeRAG(at_once) as rag:
        rag.index()
    assert read_index(root) == read_index(at_once)


def test_an_edit_before_the_graph_is_linked_is_found(root, monkeypatch):
    seen = []

    def act():
        (root / "shop" / "money.py").write_text("def round_down(value):\n    return int(value)\n")
        with CodeRAG(root) as reader:
            seen.extend(hit.name for hit in reader.search("round_down"))

    while_linking(monkeypatch, act)
    with CodeRAG(root) as rag:
        rag.index()
        assert "round_down" in [hit.name for hit in rag.search("round_down")]
    assert "round_down" in seen


def test_a_rebuild_keeps_the_linked_graph_until_the_new_one_is_linked(root, monkeypatch):
    with CodeRAG(root) as rag:
        rag.index()
    callers = []

    def act():
        with CodeRAG(root) as reader:
            callers.extend(caller.qualified_name for caller in reader.callers("round_up"))

    while_linking(monkeypatch, act)
    with CodeRAG(root) as rag:
        assert rag.index(full=True).searchable_s == 0
    assert callers == ["Cart.total"]
