"""Selection of tests that reach a change in ways that no call shows."""

import shutil

import pytest

from coderag.app import CodeRAG
from coderag.engine.changes.lexical_similarity import compare_with_tests
from coderag.engine.changes.related_languages import is_related_language
from tests.support.changed_repository import make_repository, write_files

FILES = {
    "shop/store.py": (
        "def open_store(path):\n    return {'path': path}\n\n\n"
        "def close_store(store):\n    store.clear()\n\n\n"
        "def audit_store(store):\n    return len(store)\n"
    ),
    "shop/visitor.py": (
        "class Visitor:\n    def visit(self, node):\n        return getattr(self, f'visit_{node}')()\n\n"
        "    def visit_leaf(self):\n        return 1\n"
    ),
    "shop/table.py": "def halve(price):\n    return price / 2\n\n\nHANDLERS = {'half': halve}\n",
    "shop/run.py": "from shop.table import HANDLERS\n\n\ndef run(name, price):\n    return HANDLERS[name](price)\n",
    "Shop.java": "class Shop {\n    int openStore() { return 1; }\n}\n",
    "tests/conftest.py": (
        "import pytest\n\nfrom shop.store import audit_store, close_store, open_store\n\n\n"
        "@pytest.fixture\ndef store():\n    return open_store('x')\n\n\n"
        "@pytest.fixture\ndef filled(store):\n    store['a'] = 1\n    return store\n\n\n"
        "@pytest.fixture\ndef closing(store):\n    yield\n    close_store(store)\n"
    ),
    "tests/test_store.py": (
        "import pytest\n\n\ndef test_direct(store):\n    assert store\n\n\n"
        "def test_through_another_fixture(\n    filled,\n):\n    assert filled\n\n\n"
        "@pytest.mark.usefixtures('closing')\ndef test_by_mark():\n    pass\n\n\n"
        "def test_by_name(request):\n    request.getfixturevalue('filled')\n\n\n"
        "def test_without():\n    store = 1\n    assert store\n"
    ),
    "tests/audit/conftest.py": (
        "import pytest\n\nfrom shop.store import audit_store\n\n\n"
        "@pytest.fixture(autouse=True)\ndef audited():\n    yield\n    audit_store({})\n"
    ),
    "tests/audit/test_audit.py": "def test_anything():\n    assert True\n",
    "tests/audit/test_marked.py": (
        "import pytest\n\npytestmark = pytest.mark.usefixtures('closing')\n\n\ndef test_marked():\n    pass\n"
    ),
    "tests/test_visitor.py": (
        "from shop.visitor import Visitor\n\n\ndef test_walk():\n    assert Visitor().visit('leaf') == 1\n"
    ),
    "tests/helper.py": (
        "from shop import visitor\n\n\nclass Walk:\n    visitor = visitor.Visitor()\n\n\ndef help_out():\n    return 1\n"
    ),
    "tests/test_helper.py": (
        "from tests.helper import help_out\n\n\ndef test_of_helper():\n    assert help_out() == 1\n"
    ),
    "tests/test_run.py": "from shop.run import run\n\n\ndef test_discount():\n    assert run('half', 4) == 2\n",
    "ShopTest.java": "class ShopTest {\n    @Test\n    void openStoreTest() { new Shop().openStore(); }\n}\n",
}


@pytest.fixture(scope="module")
def indexed(tmp_path_factory):
    root = make_repository(tmp_path_factory.mktemp("selection") / "shop", FILES)
    with CodeRAG(root, ingestion={"workers": 0}, lineage={"enabled": False}) as rag:
        rag.index()
    return root


@pytest.fixture
def select(indexed, tmp_path):
    """Return the names of the tests selected for an edit, the likeliest first."""
    root = tmp_path / "shop"
    shutil.copytree(indexed, root)

    def edit_and_select(path, old, new):
        write_files(root, {path: (root / path).read_text().replace(old, new)})
        with CodeRAG(root, ingestion={"workers": 0}, lineage={"enabled": False}) as rag:
            return [test.name for test in rag.review_change().tests.tests]

    return edit_and_select


def test_tests_that_take_a_fixture_reach_what_it_calls(select):
    names = select("shop/store.py", "{'path': path}", "{'path': str(path)}")
    assert {"test_direct", "test_through_another_fixture", "test_by_mark", "test_by_name", "test_marked"} <= set(names)
    assert "test_without" not in names
    assert names.index("test_direct") < names.index("test_by_name")


def test_fixture_of_a_mark_reaches_the_marked_tests_only(select):
    names = select("shop/store.py", "store.clear()", "store.update({})")
    assert {"test_by_mark", "test_marked"} <= set(names)
    assert "test_direct" not in names


def test_fixture_that_applies_by_itself_reaches_the_tests_of_its_folder(select):
    names = select("shop/store.py", "len(store)", "len(list(store))")
    assert {"test_anything", "test_marked"} <= set(names)
    assert "test_direct" not in names


def test_method_without_a_known_caller_is_reached_through_its_type(select):
    assert select("shop/visitor.py", "return 1", "return 2") == ["test_walk"]


def test_function_in_a_table_is_reached_through_the_table(select):
    assert "test_discount" in select("shop/table.py", "price / 2", "price // 2")


def test_file_that_imports_a_removed_name_is_selected(select):
    names = select("shop/run.py", "def run(name, price)", "def run_handler(name, price)")
    assert names[0] == "test_discount"


def test_class_body_of_a_test_helper_fails_all_tests_that_import_it(select):
    names = select("shop/visitor.py", "class Visitor:", "class Walker:")
    assert {"test_walk", "test_of_helper"} <= set(names)


def test_shared_file_that_cannot_be_imported_fails_all_tests_of_its_folder(select):
    names = select("shop/store.py", "def audit_store", "def inspect_store")
    assert {"test_anything", "test_marked", "test_direct", "test_discount"} <= set(names)


def test_tests_in_another_language_are_not_selected_by_name(select):
    assert "ShopTest.openStoreTest" not in select("shop/store.py", "{'path': path}", "{'path': str(path)}")


def test_rare_words_count_more_than_common_ones():
    texts = {number: f"assert value {number}" for number in range(20)} | {20: "assert value zebra_crossing"}
    similarities = compare_with_tests(["value = zebra_crossing(assert)"], texts)
    assert similarities == {20: 1.0}
    assert compare_with_tests([], texts) == compare_with_tests(["x"], {}) == {}


@pytest.mark.parametrize(
    ("language", "other", "expected"),
    [
        ("python", "python", True),
        ("python", "java", False),
        ("typescript", "javascript", True),
        ("java", "kotlin", True),
        ("python", "toml", True),
        ("markdown", "go", True),
    ],
)
def test_programming_languages_share_declarations_within_a_family_only(language, other, expected):
    assert is_related_language(language, other) is expected
