"""A command that an answer prints lists what it is said to, and is not ambiguous."""

import pytest

from tests.support.corpora import make_context
from tests.support.extracted import extracted

CHAIN = {
    "core.py": "def base():\n    return 1\n",
    **{f"near{n}.py": f"from core import base\n\n\ndef near{n}():\n    return base()\n" for n in range(2)},
    **{f"far{n}.py": f"from near0 import near0\n\n\ndef far{n}():\n    return near0()\n" for n in range(30)},
}
TYPED = {
    "box.py": "class Box:\n    def put(self):\n        return 1\n",
    **{f"use{n}.py": f"from box import Box\n\n\ndef use{n}(box: Box):\n    return box\n" for n in range(9)},
    "put.py": "from box import Box\n\n\ndef store():\n    return Box().put()\n",
}


@pytest.fixture(scope="module")
def chain():
    return make_context(CHAIN)


@pytest.fixture(scope="module")
def typed():
    return make_context(TYPED)


def test_what_is_further_away_is_listed_by_impact(chain):
    text = extracted(chain, "what breaks if base changes").text
    assert "`coderag graph impact base` lists all" in text
    assert "coderag graph callers" not in text


def test_uses_of_a_type_are_listed_by_the_command_of_their_kind(typed):
    text = extracted(typed, "where is Box defined").text
    assert "`coderag graph references Box`" in text


def test_no_command_is_printed_for_a_name_that_the_graph_takes_for_several():
    files = {f"{folder}{path}": text for folder in ("a/", "b/") for path, text in CHAIN.items()}
    files = {path: text.replace("from ", f"from {path[0]}.") for path, text in files.items()}
    text = extracted(make_context(files), "what breaks if base changes").text
    assert "- and 40 more\n" in text
    assert "coderag graph" not in text


def test_what_imports_the_type_does_not_break_with_a_method_that_it_does_not_use(typed):
    text = extracted(typed, "what breaks if Box.put changes").text
    assert "`store`" in text
    assert "imported by" not in text


def test_tests_at_file_level_are_called_by_their_file():
    files = {
        "src/run.js": "export function run() {\n  return 1\n}\n\nexport function start() {\n  return run()\n}\n",
        "src/run.test.js": "import { start } from './run'\n\nstart()\n",
    }
    text = extracted(make_context(files), "what tests run").text
    assert "- `src/run.test.js` through `start`" in text
