"""Where no relation is known, the lines that mention a name are listed with the reason, and nothing is denied."""

import pytest

from tests.support.corpora import make_context
from tests.support.extracted import FILES, cited, extracted, places

MORE = {
    "shop/settings.py": "MAX_ITEMS = 20\n\n\ndef limit(items):\n    return items[:MAX_ITEMS]\n",
    "shop/menu.py": "def show(entry):\n    return entry.render_entry()\n",
    "shop/entry.py": (
        "class Entry:\n    def render_entry(self):\n        return 1\n\n\n"
        "def draw():\n    return Entry().render_entry()\n"
    ),
    "shop/plugin.py": "from outside import Plugin\n\n\nclass Printer(Plugin):\n    pass\n",
}


@pytest.fixture(scope="module")
def shop():
    return make_context({**FILES, **MORE})


def test_value_is_answered_by_the_lines_that_have_it(shop):
    answer = extracted(shop, "where is MAX_ITEMS used")
    assert "is written in 1 other line: `limit`." in answer.lead
    assert "- `limit`: `return items[:MAX_ITEMS]` — `shop/settings.py:5`" in answer.text
    assert places(answer) == cited(answer)


def test_missing_relation_is_never_a_proof_of_absence(shop):
    answer = extracted(shop, "who calls unused_rate")
    assert answer.lead.startswith("No use of **`unused_rate`** (function, `shop/money.py:9`) could be resolved")
    assert answer.missing == ["No use of `unused_rate` could be resolved."]
    assert not any(statement.is_claim for statement in answer.draft.sections[0].statements)


def test_calls_on_values_of_unknown_type_are_listed_apart(shop):
    answer = extracted(shop, "who calls Entry.render_entry")
    assert "is called by 1 declaration: `draw`." in answer.lead
    assert "May call it, on values of unknown type" in answer.text
    assert "- `return entry.render_entry()` — `shop/menu.py:2`" in answer.text


def test_extensions_of_a_type_of_elsewhere_are_found_by_their_words(shop):
    answer = extracted(shop, "which classes extend Plugin")
    assert "1 line extends or implements it" in answer.lead
    assert "- `Printer`: `class Printer(Plugin):` — `shop/plugin.py:4`" in answer.text


def test_line_that_stands_in_many_files_leaves_room_for_others():
    pages = {f"docs/{number:02}.md": "# Page\n\nSet FOO_BAR first.\n" for number in range(30)}
    files = pages | {
        "docs/zz.md": "# Other\n\nFOO_BAR limits the size.\n",
        "a.py": "import os\n\nfoo = os.environ['FOO_BAR']\n",
    }
    text = extracted(make_context(files), "where is FOO_BAR used").text
    assert "`foo = os.environ['FOO_BAR']`" in text
    assert text.count("Set FOO_BAR first.") <= 2


@pytest.mark.parametrize("question", ["who calls greet", "what breaks if greet changes", "is greet used anywhere"])
def test_lines_of_code_come_before_comments_and_documents(question):
    files = {
        "app/greeting.lua": "local M = {}\n\nfunction M.greet(name)\n  return name\nend\n\nreturn M\n",
        "app/start.lua": "-- greet\nlocal handlers = { hello = greeting.greet }\n",
        "docs/use.md": "# Use\n\n`greet` greets.\n",
    }
    text = extracted(make_context(files), question).text
    assert "3 lines mention it: `handlers`" in text
    assert "- `handlers`: `local handlers = { hello = greeting.greet }` — `app/start.lua:2`" in text
    assert text.index("app/start.lua:2") < text.index("app/start.lua:1") < text.index("docs/use.md:3")
    assert "the code does not tell the type of a value" in text
    assert "(comment)" in text


def test_tests_through_an_untyped_value_are_the_lines_that_mention_the_name():
    files = {
        "shop.py": "class Till:\n    def pay_out(self):\n        return 1\n",
        "tests/test_shop.py": "def test_pays(till):\n    assert till.pay_out() == 1\n",
    }
    text = extracted(make_context(files), "what tests Till.pay_out").text
    assert "1 line of tests mentions it" in text
    assert "tests/test_shop.py" in text


def test_lines_that_no_relation_explains_come_after_those_that_are_known():
    files = {
        "a.py": "def emit(x):\n    return x\n",
        "b.py": "from a import emit\n\n\ndef known():\n    emit(1)\n",
        "c.py": "def other(queue):\n    return [queue.emit]\n",
    }
    known, _, unexplained = extracted(make_context(files), "who uses emit").text.partition("without a known relation")
    assert "b.py:5" in known
    assert "c.py:2" in unexplained


def test_neighbour_that_only_its_name_links_is_told_apart():
    types = "".join(f"class {name}:\n    def go_on(self):\n        pass\n\n\n" for name in "AC")
    user = "from a import A, C\n\n\ndef b(x):\n    x.go_on()\n\n\ndef c(y=A()):\n    return C()\n"
    answer = extracted(make_context({"a.py": types, "b.py": user}), "who calls A.go_on")
    assert "Only its name links it to `b`." in answer.text
    assert answer.missing == ["No use of `A.go_on` could be resolved."]
