"""Text search and its filters over a real index."""

import json
import subprocess

import pytest

from coderag import CodeRAG
from coderag.errors import IndexNotFoundError, InvalidQueryError
from coderag.schema.search import Filters

FILES = {
    "shop/cart.py": "class Cart:\n    def total(self):\n        return sum(self.items)\n",
    "shop/pay.py": "def pay(cart):\n    if cart.total() > 0:\n        charge(cart.total())\n",
    "tests/test_cart.py": "def test_total():\n    assert Cart().total() == 0\n",
}


@pytest.fixture(scope="module")
def rag(tmp_path_factory):
    root = tmp_path_factory.mktemp("text") / "shop"
    for path, text in FILES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "first"]):
        subprocess.run(["git", *arguments], cwd=root, check=True)
    (root / "shop/pay.py").write_text(FILES["shop/pay.py"] + "\n\ndef refund(cart):\n    return -cart.total()\n")
    (root / "shop/new.py").write_text("def discount(cart):\n    return cart.total() / 10\n")
    rag = CodeRAG(root)
    rag.index()
    return rag


def test_text_and_patterns_are_found_with_their_declarations(rag):
    found = rag.search_text("total()", filters=Filters(paths=("!tests",)))
    assert [(str(match.path), match.symbol) for match in found.matches] == [
        ("shop/new.py", "discount"),
        ("shop/pay.py", "pay"),
        ("shop/pay.py", "pay"),
        ("shop/pay.py", "refund"),
    ]
    assert rag.search_text(r"def t\w+", regex=True).files == {"shop/cart.py": 1, "tests/test_cart.py": 1}
    assert rag.search_text("class cart", ignore_case=True, limit=1).matches[0].definition


def test_an_edit_is_seen_before_and_after_it_is_indexed(rag):
    file = rag.root / "tests/test_cart.py"
    file.write_text(FILES["tests/test_cart.py"] + "\n\ndef test_edited():\n    fresh_call()\n")
    assert rag.search_text("fresh_call").matches[0].symbol == "test_edited"
    rag.index()
    assert rag.search_text("fresh_call").matches[0].symbol == "test_edited"


def test_only_what_changed_since_a_revision(rag):
    since = Filters(changed_since="HEAD", roles=("source",))
    assert set(rag.search_text("cart", filters=since).files) == {"shop/pay.py", "shop/new.py"}
    assert {str(hit.path) for hit in rag.search("total of the cart", filters=since)} == {"shop/pay.py", "shop/new.py"}
    with pytest.raises(InvalidQueryError, match="unknown git revision 'nowhere'"):
        rag.search("cart", filters=Filters(changed_since="nowhere"))


def test_only_code_that_is_complex_enough(rag):
    assert {hit.name for hit in rag.search("cart", filters=Filters(complexity=(2, 9), paths=("shop",)))} == {"pay"}


def test_numbers_out_of_range_are_refused(rag):
    with pytest.raises(InvalidQueryError, match="limit is 0"):
        rag.search_text("x", limit=0)


def test_without_an_index_nothing_is_searched(tmp_path):
    with pytest.raises(IndexNotFoundError):
        CodeRAG(tmp_path).search_text("x")


def test_filters_of_the_query_state_are_plain_data(rag):
    given = rag._make_input("x", "search", filters=Filters(complexity=(1, 5), changed_since="HEAD"))
    assert json.loads(json.dumps(given)) == given
