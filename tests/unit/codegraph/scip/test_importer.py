import pyarrow as pa
import pytest

from coderag.codegraph.scip.importer import import_edges
from coderag.errors import InvalidQueryError, StoreError
from coderag.schema.facts import Base, Definition, FileFacts, Import, Reference
from coderag.stores.facts_codec import pack_facts
from coderag.stores.graph_tables import build_facts_schema
from tests.support.graph_tables import make_tables
from tests.support.scip_index import DEFINITION, IMPORT, ScipDocument, ScipIndex, message, symbol

ITEM_MODULE = symbol("`shop.item`/")
ITEM = symbol("`shop.item`/", "Item#")
INIT = symbol("`shop.item`/", "Item#__init__().")
COST = symbol("`shop.item`/", "Item#cost().")
PRICE = symbol("`shop.item`/", "price().")
LIMIT = symbol("`shop.item`/", "LIMIT.")
GIFT = symbol("`shop.gift`/", "Gift#")
GIFT_COST = symbol("`shop.gift`/", "Gift#cost().")
MAIN = symbol("`shop.gift`/", "main().")

FILES = {
    "shop/gift.py": [
        ("Gift", "class", 3, 6),
        ("Gift.cost", "method", 4, 6),
        ("main", "function", 8, 14),
        ("main.again", "function", 9, 10),
    ],
    "shop/item.py": [
        ("Item", "class", 1, 8),
        ("Item.__init__", "method", 2, 3),
        ("Item.cost", "method", 5, 8),
        ("price", "function", 10, 12),
        ("LIMIT", "constant", 14, 14),
    ],
    "shop/other.py": [("unseen", "function", 1, 2)],
}
FACTS = {
    "shop/gift.py": FileFacts(
        "python",
        definitions=[
            Definition(name.rpartition(".")[2], name, kind, -1, start, end)
            for name, kind, start, end in FILES["shop/gift.py"]
        ],
        imports=[Import("shop.item", "Item", "", -1, 1), Import("shop.item", "price", "cost_of", -1, 1)],
        bases=[Base(0, "Item", 3)],
        references=[
            Reference(1, "call", "super().cost", 5),
            Reference(1, "call", "cost_of", 6),
            Reference(1, "read", "LIMIT", 6),
            Reference(2, "decorator", "cost_of", 8),
            Reference(3, "call", "Item/0", 10),
            Reference(2, "call", "again", 12),
            Reference(2, "read", "cost_of", 13),
            Reference(2, "call", "map", 13),
            Reference(2, "call", "super().__init__", 14),
        ],
    )
}

ITEM_DOCUMENT = ScipDocument(
    "shop/item.py",
    [
        (1, 0, 0, ITEM_MODULE, DEFINITION),
        (1, 6, 4, ITEM, DEFINITION),
        (2, 8, 8, INIT, DEFINITION),
        (2, 17, 4, symbol("`shop.item`/", "Item#__init__().(self)"), DEFINITION),
        (5, 8, 4, COST, DEFINITION),
        (7, 8, 4, ITEM),
        (10, 4, 5, PRICE, DEFINITION),
        (14, 0, 5, LIMIT, DEFINITION),
    ],
)
GIFT_DOCUMENT = ScipDocument(
    "shop/gift.py",
    [
        (1, 5, 4, ITEM_MODULE),
        (1, 17, 4, ITEM),
        (1, 23, 5, PRICE),
        (3, 6, 4, GIFT, DEFINITION),
        (3, 11, 4, ITEM),
        (4, 8, 4, GIFT_COST, DEFINITION),
        (5, 23, 4, COST),
        (6, 15, 7, PRICE),
        (6, 25, 5, LIMIT),
        (8, 1, 7, PRICE),
        (8, 4, 4, MAIN, DEFINITION),
        (9, 8, 5, "local 0", DEFINITION),
        (9, 14, 1, "local 1", DEFINITION),
        (10, 15, 4, ITEM),
        (11, 9, 4, COST),
        (12, 4, 5, "local 0"),
        (12, 10, 1, "local 1"),
        (13, 8, 7, PRICE),
        (14, 20, 8, INIT),
    ],
    [(GIFT, ITEM, "implementation"), (GIFT_COST, COST, "implementation")],
)
INDEX = ScipIndex([GIFT_DOCUMENT, ITEM_DOCUMENT])

EXPECTED = {
    ("shop/gift.py", "imports", "shop/item.py", 1),
    ("shop/gift.py", "imports", "Item", 1),
    ("shop/gift.py", "imports", "price", 1),
    ("Gift", "inherits", "Item", 3),
    ("Gift.cost", "overrides", "Item.cost", 4),
    ("Gift.cost", "calls", "Item.cost", 5),
    ("Gift.cost", "calls", "price", 6),
    ("Gift.cost", "references", "LIMIT", 6),
    ("main.again", "instantiates", "Item", 10),
    ("main", "calls", "price", 8),
    ("main", "references", "Item.cost", 11),
    ("main", "calls", "main.again", 12),
    ("main", "references", "price", 13),
    ("main", "calls", "Item.__init__", 14),
    ("Item.cost", "references", "Item", 7),
}


def build_facts_table(facts):
    rows = []
    for path, file_facts in facts.items():
        interface, body, digest = pack_facts(file_facts)
        common = {"language": file_facts.language, "role": "source", "lines": 20, "consulted": [], "names": []}
        rows.append({"path": path, "interface": interface, "body": body, "digest": digest, **common})
    return pa.Table.from_pylist(rows, build_facts_schema())


@pytest.fixture
def run_import(tmp_path):
    def run_import(index, *, files=FILES, facts=FACTS, edges=(), root=None):
        path = tmp_path / "index.scip"
        path.write_bytes(index if isinstance(index, bytes) else index.to_bytes())
        tables = make_tables(files, edges, ["json"])._replace(facts=build_facts_table(facts))
        return import_edges(path, tables, {file: f"hash of {file}" for file in files}, root)

    return run_import


def name_edges(imported_edges):
    def end(row, which):
        return row[f"{which}_name"] or row[f"{which}_path"]

    rows = imported_edges.edges.to_pylist()
    return {(end(row, "source"), row["relation"], end(row, "target"), row["line"]) for row in rows}


def test_index_gives_edges_of_every_relation(run_import):
    edges, report = run_import(INDEX)
    assert name_edges(edges) == EXPECTED
    assert report.tool == "scip-test 1.2"
    assert (report.documents, report.covered, report.outdated, report.unknown) == (2, 2, (), ())
    assert report.edges == {"calls": 5, "imports": 3, "inherits": 1, "instantiates": 1, "overrides": 1, "references": 4}
    assert edges.files == {path: f"hash of {path}" for path in ("shop/gift.py", "shop/item.py")}


def test_without_facts_symbols_determine_calls(run_import):
    edges, _ = run_import(INDEX, facts={}, edges=[("shop/gift.py", "imports", "shop/item.py", 1)])
    named_edges = name_edges(edges)
    assert {("Gift.cost", "calls", "price", 6), ("main", "calls", "price", 13)} <= named_edges
    assert ("shop/gift.py", "imports", "price", 1) in named_edges  # from the linked edge of that line
    assert ("Gift", "inherits", "Item", 3) in named_edges  # from the relationship


def test_import_role_gives_an_import_edge(run_import):
    document = ScipDocument("shop/other.py", [(2, 4, 5, PRICE, IMPORT)])
    edges, _ = run_import(ScipIndex([ITEM_DOCUMENT, document]), facts={})
    assert ("shop/other.py", "imports", "price", 2) in name_edges(edges)


def test_indirect_ancestor_is_not_a_base(run_import):
    root = symbol("`shop.other`/", "Root#")
    document = ScipDocument(
        GIFT_DOCUMENT.path,
        GIFT_DOCUMENT.occurrences,
        [(GIFT, LIMIT, "type_definition"), (GIFT, root, "implementation")],
    )
    files = {**FILES, "shop/other.py": [("Root", "class", 1, 2)]}
    other = ScipDocument("shop/other.py", [(1, 6, 4, root, DEFINITION)])
    edges, _ = run_import(ScipIndex([ITEM_DOCUMENT, document, other]), files=files)
    assert {edge for edge in name_edges(edges) if edge[1] in {"inherits", "implements"}} == {
        ("Gift", "inherits", "Item", 3)
    }


def test_relationships_give_implements_and_references(run_import):
    files = {
        "a.ts": [
            ("Shape", "interface", 1, 1),
            ("Square", "class", 2, 4),
            ("unit", "constant", 6, 6),
            ("Big", "interface", 8, 8),
        ]
    }
    shape, square, unit, big = (symbol("`a.ts`/", name) for name in ("Shape#", "Square#", "unit.", "Big#"))
    document = ScipDocument(
        "a.ts",
        [
            (1, 17, 5, shape, DEFINITION),
            (2, 13, 6, square, DEFINITION),
            (6, 6, 4, unit, DEFINITION),
            (8, 10, 3, big, DEFINITION),
        ],
        [(square, shape, "implementation"), (unit, square, "type_definition"), (big, shape, "implementation")],
    )
    edges, _ = run_import(ScipIndex([document]), files=files, facts={})
    assert name_edges(edges) == {
        ("Square", "implements", "Shape", 2),
        ("unit", "references", "Square", 6),
        ("Big", "inherits", "Shape", 8),
    }


def test_constructor_call_instantiates_its_class(run_import):
    files = {"a.ts": [("Square", "class", 1, 3), ("Square.constructor", "method", 2, 2), ("main", "function", 5, 7)]}
    constructor = symbol("`a.ts`/", "Square#`<constructor>`().")
    document = ScipDocument(
        "a.ts",
        [
            (1, 6, 6, symbol("`a.ts`/", "Square#"), DEFINITION),
            (2, 2, 11, constructor, DEFINITION),
            (6, 9, 6, constructor),
        ],
    )
    edges, _ = run_import(ScipIndex([document]), files=files, facts={})
    assert name_edges(edges) == {("main", "instantiates", "Square", 6)}


def test_constructor_names_of_other_languages_do_not_count(run_import):
    files = {"a.java": [("A", "class", 1, 3), ("A.init", "method", 2, 2), ("main", "function", 5, 7)]}
    method = symbol("`a.java`/", "A#init().")
    document = ScipDocument(
        "a.java", [(1, 6, 7, symbol("`a.java`/", "A#"), DEFINITION), (2, 2, 6, method, DEFINITION), (6, 9, 13, method)]
    )
    edges, _ = run_import(ScipIndex([document]), files=files, facts={})
    assert ("main", "instantiates", "A", 6) not in name_edges(edges)


def test_outdated_document_is_skipped_and_reported(run_import):
    moved = [(line + 20, *rest) for line, *rest in ITEM_DOCUMENT.occurrences]
    edges, report = run_import(ScipIndex([GIFT_DOCUMENT, ScipDocument("shop/item.py", moved)]))
    assert (report.covered, report.outdated) == (1, ("shop/item.py",))
    assert name_edges(edges) == {("main", "calls", "main.again", 12)}
    assert list(edges.files) == ["shop/gift.py"]


def test_unindexed_files_are_reported(run_import):
    generated = ScipDocument("build/generated.py", [(1, 0, 4, ITEM)])
    _, report = run_import(ScipIndex([ITEM_DOCUMENT, generated, ScipDocument("../outside.py")]))
    assert report.unknown == ("../outside.py", "build/generated.py")


@pytest.mark.parametrize(("made_in", "path"), [("shop", "item.py"), (".", "shop/item.py"), ("..", "repo/shop/item.py")])
def test_index_of_a_parent_or_child_folder_is_relocated(run_import, tmp_path, made_in, path):
    root = tmp_path / "repo"
    (root / "shop").mkdir(parents=True)
    index = ScipIndex([ScipDocument(path, ITEM_DOCUMENT.occurrences)], (root / made_in).resolve().as_uri())
    edges, _ = run_import(index, root=root)
    assert list(edges.files) == ["shop/item.py"]


def test_index_of_another_machine_uses_its_own_root(run_import, tmp_path):
    edges, _ = run_import(ScipIndex([ITEM_DOCUMENT], "file:///builds/shop"), root=tmp_path)
    assert list(edges.files) == ["shop/item.py"]


def test_index_without_known_files_raises_with_its_origin(run_import):
    with pytest.raises(
        InvalidQueryError, match="contains no file that is indexed here; it was created in file:///elsewhere"
    ):
        run_import(ScipIndex([ScipDocument("main.go")], "file:///elsewhere"))


@pytest.mark.parametrize(
    "content", [b"", b"no index", INDEX.to_bytes()[:-80], message((1, message((3, "file:///a"))), (2, b"\x08"))],
    ids=["empty", "text", "cut off", "broken document"],
)  # fmt: skip
def test_damaged_index_raises_without_changes(run_import, content):
    with pytest.raises(InvalidQueryError, match=r"index\.scip is damaged or not a SCIP index") as caught:
        run_import(content)
    assert caught.value.hint.startswith("Nothing was changed.")


def test_folder_raises_a_store_error(tmp_path):
    with pytest.raises(StoreError, match="Cannot read"):
        import_edges(tmp_path, make_tables(FILES), {})


def test_index_without_edges_is_valid(run_import):
    edges, report = run_import(ScipIndex([ScipDocument("shop/other.py")]))
    assert (edges.edges.num_rows, report.covered, report.edges) == (0, 1, {})


def test_edge_ends_are_stored_by_name_and_ordinal(run_import):
    files = {"a.py": [("f", "function", 1, 2), ("f", "function", 4, 5), ("g", "function", 7, 9)]}
    second, g = symbol("a/", "f(+1)."), symbol("a/", "g().")
    document = ScipDocument("a.py", [(4, 4, 1, second, DEFINITION), (7, 4, 1, g, DEFINITION), (8, 4, 1, second)])
    edges, _ = run_import(ScipIndex([document]), files=files, facts={})
    [row] = edges.edges.to_pylist()
    assert (row["target_name"], row["target_nth"]) == ("f", 1)
