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
        "where do I start the server",
        "what is the structure of a receipt",
        "how is the code of a voucher organized",
        "what does this project do when a voucher has expired",
        "what is this library for and who calls charge",
    ],
)
def test_questions_about_a_part_are_not(question):
    assert not analyze(question, "shop")["reading"]["is_of_whole"]


def test_an_overview_begins_with_what_the_readme_says_the_project_is(shop):
    draft = extracted(shop, "what does this project do?")
    assert draft.text.startswith("> A shop that sells cheese, wine and bread to whoever comes by.\n")
    assert ("README.md", 11, 11) in places(draft) == cited(draft)
    assert "Thanks to all" not in draft.text
    assert "--open" not in draft.text


def test_an_overview_tells_the_folders_what_the_code_rests_on_and_what_to_read(shop):
    text = extracted(shop, "where do I start reading?").text
    assert "**The code, in `src/shop/`**" in text
    assert "- `src/shop/goods/`: 2 files, with `Cheese` (`src/shop/goods/cheese.py:1`)" in text
    assert "There are tests in `tests/` and documents in `docs/`." in text
    assert "- `Cheese`, class: What is sold most. — `src/shop/goods/cheese.py:1`" in text
    assert "- `main` — `src/shop/till/pay.py:8`" in text
    assert "- How to help — `CONTRIBUTING.md:1`" in text


def test_code_without_a_readme_has_an_overview_too():
    text = extracted(make_context({"shop/pay.py": FILES["src/shop/till/pay.py"]}), "what does this code do").text
    assert "- `shop/`: 1 file, with `charge` (`shop/pay.py:4`) and `main` (`shop/pay.py:8`)" in text
    assert "- `main` — `shop/pay.py:8`" in text
