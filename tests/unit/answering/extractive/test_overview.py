import pytest

from coderag.question.analysis import analyze
from tests.support.corpora import make_context
from tests.support.extracted import cited, extracted, places

FILES = {
    "README.md": (
        "# Corner shop\n\n[![build](https://x.test/b.svg)](https://x.test)\n\n- [Manual](docs/manual.md)\n\n"
        "Thanks to all who have helped with this for so many years.\n\n## What is it?\n\n"
        "A **shop** that sells cheese, wine and [bread](bread.md) to whoever comes by.\n\n"
        "```sh\nshop --open the door and sell what there is on the shelves\n```\n"
    ),
    "CONTRIBUTING.md": "# How to help\n\nWrite tests.\n",
    "docs/manual.md": "# Manual\n\nHow to sell.\n",
    "src/shop/goods/cheese.py": 'class Cheese:\n    """What is sold most."""\n\n    def weigh(self):\n        return 1\n',
    "src/shop/goods/wine.py": "from shop.goods.cheese import Cheese\n\n\ndef pair():\n    return Cheese().weigh()\n",
    "src/shop/till/pay.py": (
        "from shop.goods.cheese import Cheese\n\n\ndef charge():\n    return Cheese().weigh()\n\n\n"
        "def main():\n    charge()\n"
    ),
    "news/1.0/issue-17": "A till counts what it takes now.\n",
    "tests/test_pay.py": "from shop.till.pay import charge\n\n\ndef test_it():\n    assert charge() == 1\n",
}


@pytest.fixture(scope="module")
def shop():
    return make_context(FILES)


@pytest.mark.parametrize(
    "question",
    [
        "what does this project do?",
        "where do I start reading",
        "How is the code organized?",
        "what is this library for and how is it structured",
        "what is in this repo",
        "give me a high-level overview of this codebase",
        "explain this repository to me",
        "what does shop do",
    ],
)
def test_questions_about_the_whole_are_told(question):
    assert analyze(question, "shop")["reading"]["is_of_whole"]


@pytest.mark.parametrize(
    "question",
    [
        "how does it work",
        "what is Cheese",
        "overview of the Cheese class",
        "where do I start the server",
        "what is the structure of a receipt",
        "how is the code of a voucher organized",
        "what does this project do when a voucher has expired",
        "what is this library for and who calls charge",
    ],
)
def test_questions_about_a_part_are_not(question):
    assert not analyze(question, "shop")["reading"]["is_of_whole"]


def test_an_overview_begins_with_the_readmes_own_sentence(shop):
    answer = extracted(shop, "what does this project do?")
    assert "A shop that sells cheese, wine and bread to whoever comes by. — `README.md:11`" in answer.lead
    assert places(answer) == cited(answer)
    assert "Thanks to all" not in answer.text
    assert "--open" not in answer.text


def test_an_overview_lists_parts_entry_points_and_documents(shop):
    text = extracted(shop, "where do I start reading?").text
    assert "**Parts in `src/shop/`**" in text
    assert "- `src/shop/goods/cheese.py` with `Cheese` — `src/shop/goods/cheese.py:1`" in text
    assert "- `src/shop/till/` (1 file) with `charge` — `src/shop/till/pay.py:4`" in text
    assert "- `Cheese` (class): What is sold most. — `src/shop/goods/cheese.py:1`" in text
    assert "- `main` (function) — `src/shop/till/pay.py:8`" in text
    assert "- How to help — `CONTRIBUTING.md:1`" in text


def test_code_without_a_readme_has_an_overview_too():
    text = extracted(make_context({"shop/pay.py": FILES["src/shop/till/pay.py"]}), "what does this code do").text
    assert "holds 1 file; most rests on `charge` (`shop/pay.py:4`)" in text
    assert "- `main` (function) — `shop/pay.py:8`" in text


def test_a_folder_is_described_by_its_parts(shop):
    answer = extracted(shop, "overview of src/shop/goods")
    assert answer.lead.startswith("**`src/shop/goods/`** holds 2 files; most rests on `Cheese`")
    assert "`src/shop/goods/wine.py` with `pair`" in answer.text
    assert "charge" not in answer.text


def test_a_file_is_described_by_its_declarations(shop):
    answer = extracted(shop, "overview of src/shop/till/pay.py")
    assert answer.lead.startswith("**`src/shop/till/pay.py`** declares 2 functions")
    assert "- `def charge()` — `src/shop/till/pay.py:4`" in answer.text


def test_a_type_is_described_by_its_documentation_and_members(shop):
    answer = extracted(shop, "give me an overview of the Cheese class")
    assert answer.lead == "**`Cheese`** (class) in `src/shop/goods/cheese.py:1-5`: What is sold most."
    assert "- `def weigh(self)` — `src/shop/goods/cheese.py:4`" in answer.text


def test_an_unknown_folder_is_not_taken_for_the_project(shop):
    assert "No indexed file has the place `src/kitchen`" in extracted(shop, "overview of src/kitchen").text
