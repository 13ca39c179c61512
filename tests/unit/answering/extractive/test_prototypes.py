"""Answers about C: definitions in place of prototypes, and lines of the files that they are cited from."""

import re

import pytest

from tests.support.corpora import make_context
from tests.support.extracted import cited, extracted, places

FILES = {
    "tank/valve.h": (
        "/* Valves of a tank. */\n\n#ifndef VALVE_H\n#define VALVE_H\n\nint valve_open(int level);\n"
        "\nint valve_turn(int by);\n"
        "\nint valve_seal(int level);\n\n#endif\n"
    ),
    "tank/valve.c": (
        '#include "valve.h"\n\nstatic int turned = 0;\n\n'
        "int valve_turn(int by) {\n    turned += by;\n    return valve_seal(turned);\n}\n\n"
        "int valve_seal(int level) {\n    return level > 9 ? 9 : level;\n}\n\n"
        "int valve_open(int level) {\n    if (level < 0) {\n        return -1;\n    }\n    valve_seal(level);\n"
        "    return valve_turn(level);\n}\n"
    ),
    "tank/pump.c": (
        '#include "valve.h"\n\nint pump_start(int level) {\n    return valve_open(level);\n}\n\n'
        "int pump_stop(void) {\n    valve_turn(0);\n    return valve_seal(0);\n}\n"
    ),
}
QUESTIONS = [
    "how does valve_open work",
    "what happens when the valve opens",
    "how does pump_start reach valve_seal",
    "where is valve_turn declared",
    "who calls valve_seal",
    "what does valve_open call",
    "what breaks if valve_turn changes",
    "explain valves of a tank",
    "difference between valve_open and pump_start",
]
_HEAD_LINES = 5  # of the header, above its prototypes
QUOTED = re.compile(r"`([^`\n]+)`[^`\n]* — `([^`\n]+):(\d+)`")


@pytest.fixture(scope="module", params=[False, True], ids=["apart", "merged"])
def tank(request):
    return make_context(FILES, merged=request.param)


@pytest.mark.parametrize("query", QUESTIONS)
def test_quoted_lines_are_those_of_the_cited_file(tank, query):
    draft = extracted(tank, query)
    for lines in draft.cited_lines:
        text = FILES[lines.path].split("\n")[lines.start_line - 1 : lines.end_line]
        assert lines.text.rstrip("\n") == "\n".join(text).rstrip("\n")
    for code, path, line in QUOTED.findall(draft.text):
        text = FILES[path].split("\n")[int(line) - 1]
        if code.endswith((";", "{")):
            assert code == text.strip()
    assert places(draft) == cited(draft)


@pytest.mark.parametrize("query", [query for query in QUESTIONS if "explain" not in query])
def test_prototypes_are_not_cited(tank, query):
    assert not [end for path, _, end in cited(extracted(tank, query)) if path == "tank/valve.h" and end > _HEAD_LINES]


def test_prototype_is_no_other_declaration(tank):
    text = extracted(tank, "where is valve_turn declared").text
    assert "**`valve_turn`** (function) is declared in `tank/valve.c:5-8`." in text
    assert "Other declarations" not in text


def test_steps_begin_and_end_in_definitions(tank):
    text = extracted(tank, "how does pump_start reach valve_seal").text
    assert "in `tank/valve.c:18`: `valve_seal(level);`" in text
    assert ".h:" not in text


STUBBED = {
    "shop/till.pyi": '"""Till of a shop: how a customer pays."""\n\n\n'
    'def pay(cents: int) -> int:\n    """Pay at the till."""\n\n\n'
    "def count(cents: int) -> int: ...\n",
    "shop/till.py": "LIMIT = 9\n\n\n# Change\n\n\ndef pay(cents):\n    count(cents)\n    return give(cents)\n\n\n"
    "def count(cents):\n    return give(min(cents, LIMIT))\n\n\ndef give(cents):\n    return cents\n",
}


def test_steps_of_a_stub_quote_the_file_that_makes_the_calls():
    context = make_context(STUBBED)
    text = extracted(context, "what happens when a customer pays").text
    assert "in `shop/till.py:8`: `count(cents)`" in text
    assert "in `shop/till.py:9`: `return give(cents)`" in text
