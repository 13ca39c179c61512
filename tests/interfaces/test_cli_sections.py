"""Answers with sections in a terminal."""

import io
import re
import sys

import pytest

from coderag.interfaces.cli.output.answer import AnswerPrinter
from coderag.interfaces.cli.output.streams import Output
from coderag.schema.answers import Answer, AnswerEvent, AnswerSection, AnswerStatement
from tests.interfaces.test_cli_terminal import Terminal

CODE = "def round_up(value):\n    … 5 lines\n    return int(value + 0.5)"
TEXT = "**`round_up`** (function) in `shop/money.py:4-11`.\n"
SECTIONS = [
    AnswerSection(
        "place",
        "",
        "text",
        [
            AnswerStatement(
                "**`round_up`** (function) in `shop/money.py:4-11`.",
                [0],
                code=CODE,
                language="python",
                line_numbers=[4, 0, 10],
            )
        ],
    ),
    AnswerSection(
        "users",
        "Called by (2)",
        "list",
        [
            AnswerStatement("`Cart.total` \u2014 `return round_up(sum(self.items))` \u2014 `shop/cart.py:16`", [1]),
            AnswerStatement("`test_rounding` \u2014 `tests/test_money.py:5`", [2], level=1),
        ],
    ),
    AnswerSection("steps", "Steps", "steps", [AnswerStatement("`a` calls `b`", []), AnswerStatement("`b` ends", [])]),
]


def make_answer(sections=SECTIONS, text=TEXT) -> Answer:
    return Answer("who", "find_usage", text, [], 0, 0, "found", [], sections=sections)


@pytest.fixture
def draw(monkeypatch: pytest.MonkeyPatch, tmp_path):
    """Print events in a terminal; return what it shows, with its styles."""
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop/money.py").write_text("x = 1\n" * 20)

    def draw(*events, columns="80", **environment) -> str:
        for name, value in {
            "TERM": "xterm-256color",
            "COLUMNS": columns,
            "LINES": "40",
            "NO_COLOR": "",
            **environment,
        }.items():
            monkeypatch.setenv(name, value)
        stdout = Terminal()
        monkeypatch.setattr(sys, "stdout", stdout)
        printer = AnswerPrinter(Output(), tmp_path)
        for event in events or [AnswerEvent("text", TEXT), AnswerEvent("answer", answer=make_answer())]:
            printer.handle_event(event)
        return stdout.getvalue()

    return draw


def plain(shown: str) -> list[str]:
    """Return the lines that a terminal shows in the end."""
    final = shown.rpartition("\x1b[2K")[2]
    text = re.sub(r"\x1b\][^\x1b\x07]*(?:\x1b\\|\x07)|\x1b\[[\d;?]*[A-Za-z]", "", final)
    return [line.rstrip() for line in text.split("\n")]


def test_the_first_sentence_comes_first_and_lists_are_compact(draw) -> None:
    shown = [line for line in plain(draw()) if line]
    assert shown[0] == "round_up (function) in shop/money.py:4-11."
    assert shown[shown.index("Called by (2)") :] == [
        "Called by (2)",
        "\u2022 Cart.total \u2014 return round_up(sum(self.items)) \u2014 shop/cart.py:16",
        "  \u2022 test_rounding \u2014 tests/test_money.py:5",
        "Steps",
        "1. a calls b",
        "2. b ends",
    ]


def test_code_has_the_line_numbers_of_the_file_and_a_mark_for_a_gap(draw) -> None:
    shown = plain(draw())
    first = shown.index(" 4  def round_up(value):")
    assert shown[first + 1 : first + 3] == ["        \u2026 5 lines", "10      return int(value + 0.5)"]


def test_the_text_of_the_sections_is_not_printed_twice(draw) -> None:
    assert "\n".join(plain(draw())).count("(function) in") == 1
    assert "\n".join(plain(draw(AnswerEvent("answer", answer=make_answer())))).count("(function) in") == 1


def test_words_under_way_are_replaced_by_the_sections(draw) -> None:
    shown = plain(
        draw(AnswerEvent("draft", "It lies"), AnswerEvent("text", TEXT), AnswerEvent("answer", answer=make_answer()))
    )
    assert next(line for line in shown if line) == "round_up (function) in shop/money.py:4-11."


def test_places_link_to_files(draw, tmp_path) -> None:
    assert f"{(tmp_path / 'shop/money.py').as_uri()}" in draw()


@pytest.mark.parametrize("columns", ["40", "80", "120"])
def test_no_line_is_wider_than_the_terminal(draw, columns) -> None:
    long_code = "x = " + " + ".join(f"value_{number}" for number in range(40))
    statement = AnswerStatement("word " * 60, [], code=long_code, language="python", line_numbers=[1_234])
    sections = [AnswerSection("place", "", "text", [statement]), AnswerSection("next", "Next", "list", [statement])]
    shown = plain(draw(AnswerEvent("answer", answer=make_answer(sections)), columns=columns))
    assert max(map(len, shown)) <= int(columns)
    assert "".join(line.strip().removeprefix("1234").strip() for line in shown).count("value_39") == 2


def test_without_colours_there_are_none(draw) -> None:
    assert re.search(r"\x1b\[[\d;]*3\d", draw())
    assert not re.search(r"\x1b\[[\d;]*3[0-7]m", draw(NO_COLOR="1"))


def test_controls_of_the_repository_are_shown(draw) -> None:
    evil = AnswerStatement("It is `a\x1b[2J`", [], code="b\x1b]0;t\x07", language="python", line_numbers=[1])
    shown = draw(AnswerEvent("answer", answer=make_answer([AnswerSection("place", "", "text", [evil])])))
    assert "a\\x1b[2J" in shown
    assert "\x1b]0;" not in shown


def test_another_output_gets_the_markdown(monkeypatch, tmp_path) -> None:
    stdout = io.StringIO()
    monkeypatch.setattr(sys, "stdout", stdout)
    AnswerPrinter(Output(), tmp_path).handle_event(AnswerEvent("answer", answer=make_answer()))
    assert stdout.getvalue() == TEXT
