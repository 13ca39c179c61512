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
