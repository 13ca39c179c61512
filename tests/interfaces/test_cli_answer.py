"""Answers in a terminal, while they are written."""

import io
import sys
from collections.abc import Callable

import pytest

from coderag.interfaces.cli.output.answer import AnswerPrinter, format_verdict, list_notes, split_finished_blocks
from coderag.interfaces.cli.output.cited_files import find_cited_file
from coderag.interfaces.cli.output.streams import Output
from coderag.schema.answers import Answer, AnswerClaim, AnswerEvent, Citation
from tests.interfaces.test_cli_terminal import Screen, Terminal


@pytest.fixture
def screen(coderag, monkeypatch: pytest.MonkeyPatch) -> Screen:
    return Screen(coderag, monkeypatch)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[[], Terminal]:
    """Make standard output a terminal, from when it is called."""
    for name, value in {"TERM": "xterm-256color", "COLUMNS": "60", "LINES": "20"}.items():
        monkeypatch.setenv(name, value)

    def begin() -> Terminal:
        monkeypatch.setattr(sys, "stdout", Terminal())
        return sys.stdout  # type: ignore[return-value]

    return begin


def answer(text: str = "It is.\n", **values) -> Answer:
    return Answer(**{**dict.fromkeys(("query", "intent"), ""), "text": text, "citations": [], "verified": 0, "total": 0,
                     "evidence": "found", "hits": [], **values})  # fmt: skip


# What is printed for good


@pytest.mark.parametrize(
    ("text", "finished"),
    [
        ("One. Two.", ""),
        ("One.\n\n", ""),
        ("One.\n\nTwo.", "One.\n\n"),
        ("One.\n\n- a\n- b\n\nTwo", "One.\n\n- a\n- b\n\n"),
        ("- a\n\n  more of a\n", ""),
        ("```python\nx = 1\n\ny = 2\n", ""),
        ("```python\nx = 1\n\ny = 2\n```\n\nZ", "```python\nx = 1\n\ny = 2\n```\n\n"),
        ("````\n```\n\na\n```\n\nb", ""),
        ("| a |\n|---|\n| 1 |\n\n# B", "| a |\n|---|\n| 1 |\n\n"),
    ],
)
def test_what_can_still_grow_is_not_finished(text, finished) -> None:
    assert split_finished_blocks(text) == (finished, text[len(finished) :])


def test_the_finished_parts_are_printed_once_and_the_words_under_way_vanish(terminal, tmp_path) -> None:
    stdout = terminal()
    printer = AnswerPrinter(Output(), tmp_path)
    for kind, text in [("stage", "analyze"), ("draft", "Fir"), ("text", "First paragraph."), ("draft", "drafted words"),
                       ("text", "\n\nSecond"), ("draft", " more"), ("text", " paragraph.\n")]:  # fmt: skip
        printer.handle_event(AnswerEvent(kind, text))
    printer.handle_event(AnswerEvent("answer", answer=answer("First paragraph.\n\nSecond paragraph.\n")))
    shown = lines_left(stdout.getvalue())
    assert shown == ["First paragraph.", "", "Second paragraph."]


def test_an_answer_that_was_not_streamed_is_printed_whole(terminal, tmp_path) -> None:
    stdout = terminal()
    AnswerPrinter(Output(), tmp_path).handle_event(AnswerEvent("answer", answer=answer("It is.\n")))
    assert lines_left(stdout.getvalue()) == ["It is."]


def test_what_was_checked_stays_when_an_answer_breaks_off(terminal, tmp_path) -> None:
    stdout = terminal()
    printer = AnswerPrinter(Output(), tmp_path)
    printer.handle_event(AnswerEvent("text", "Checked."))
    printer.handle_event(AnswerEvent("draft", " Not checked"))
    printer.close()
    assert lines_left(stdout.getvalue()) == ["Checked."]
    assert stdout.getvalue().count("\x1b[?25l") == stdout.getvalue().count("\x1b[?25h") > 0  # the cursor is back


def test_a_paragraph_that_is_higher_than_the_terminal_is_printed_whole_in_the_end(terminal, tmp_path) -> None:
    stdout = terminal()
    printer = AnswerPrinter(Output(), tmp_path)
    for number in range(1, 401):
        printer.handle_event(AnswerEvent("draft", f"- entry {number} is"))
        printer.handle_event(AnswerEvent("text", f"- entry {number} is a part of a long list\n"))
    printer.close()
    assert lines_left(stdout.getvalue()) == [f" • entry {number} is a part of a long list" for number in range(1, 401)]


def test_one_printer_prints_several_answers(terminal, tmp_path) -> None:
    stdout = terminal()
    printer = AnswerPrinter(Output(), tmp_path)
    for text in ("One.", "Two."):
        printer.handle_event(AnswerEvent("text", text))
        printer.handle_event(AnswerEvent("answer", answer=answer(text)))
    assert lines_left(stdout.getvalue()) == ["One.", "Two."]


def test_another_output_gets_the_markdown_once(monkeypatch, tmp_path) -> None:
    stdout = io.StringIO()
    monkeypatch.setattr(sys, "stdout", stdout)
    printer = AnswerPrinter(Output(), tmp_path)
    printer.handle_event(AnswerEvent("draft", "x"))
    printer.handle_event(AnswerEvent("text", "**It** is.\n"))
    printer.handle_event(AnswerEvent("answer", answer=answer("**It** is.\n")))
    printer.close()
    assert stdout.getvalue() == "**It** is.\n"


def test_hostile_text_is_shown_not_obeyed(terminal, tmp_path) -> None:
    stdout = terminal()
    printer = AnswerPrinter(Output(), tmp_path)
    printer.handle_event(AnswerEvent("draft", "a\x1b[2J"))
    printer.handle_event(AnswerEvent("text", "b\x1b]0;title\x07"))
    printer.close()
    assert "\x1b[2Ja" not in stdout.getvalue()
    assert "\x1b]0;" not in stdout.getvalue()


# Links


def test_a_place_is_a_link_to_its_file(terminal, tmp_path) -> None:
    stdout = terminal()
    (tmp_path / "src").mkdir()
    file = tmp_path / "src/a.py"
    file.write_text("x")
    AnswerPrinter(Output(), tmp_path).handle_event(
        AnswerEvent("answer", answer=answer("See `src/a.py:10-42`, src/a.py:7 and `src/b.py:1-2`.\n"))
    )
    assert stdout.getvalue().count(f";{file.as_uri()}\x1b\\") == 2
    assert "b.py\x1b\\" not in stdout.getvalue()


@pytest.mark.parametrize("place", ["../secret:1", "/etc/passwd:1", "src:1", "src/gone.py:1-2", "a\0b:1"])
def test_a_place_outside_of_the_repository_is_no_link(tmp_path, place) -> None:
    (tmp_path / "root/src").mkdir(parents=True)
    (tmp_path / "secret").write_text("x")
    assert find_cited_file(tmp_path / "root", place) is None


def test_an_address_is_not_hidden_below_words(terminal, tmp_path) -> None:
    stdout = terminal()
    AnswerPrinter(Output(), tmp_path).handle_event(
        AnswerEvent("answer", answer=answer("[docs](https://example.com/x)\n"))
    )
    assert "https://example.com/x" in lines_left(stdout.getvalue())[0]


# The command


def test_an_answer_is_streamed_in_a_terminal(screen) -> None:
    code, stdout, _ = screen("ask", "login")
    assert code == 0
    assert lines_left(stdout)[-1] == "1 of 1 quotation matches the files"
    assert "searching" in stdout


def test_without_streaming_the_answer_comes_at_once(screen) -> None:
    code, stdout, _ = screen("ask", "login", "--no-stream")
    assert code == 0
    assert "\x1b[?25l" not in stdout
    assert lines_left(stdout)[-1] == "1 of 1 quotation matches the files"


def test_the_first_question_indexes_and_then_streams(screen) -> None:
    code, stdout, stderr = screen("ask", "login", behaviour="unindexed")
    assert code == 0
    assert "indexed 1,204 files" in stderr
    assert lines_left(stdout)[-1] == "1 of 1 quotation matches the files"


@pytest.mark.parametrize(("behaviour", "code"), [("interrupted", 130), ("broken off", 30)])
def test_an_answer_that_breaks_off_leaves_the_terminal_clean(screen, behaviour, code) -> None:
    ended, stdout, stderr = screen("ask", "login", behaviour=behaviour)
    assert ended == code
    assert stdout.count("\x1b[?25l") == stdout.count("\x1b[?25h")
    assert lines_left(stdout) == []
    assert len(lines_left(stderr)) == 1


# What else is told


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ({"verified": 7, "total": 7}, "7 of 7 quotations match the files"),
        ({"verified": 1, "total": 1}, "1 of 1 quotation matches the files"),
        ({"verified": 3, "total": 4, "generator": "ollama/x"}, "3 of 4 statements agree with the lines they cite"),
        ({"verified": 1, "total": 4, "generator": "ollama/x"}, "1 of 4 statements agree with the lines they cite"),
        ({}, ""),
    ],
)
def test_the_verdict_names_what_was_checked(values, verdict) -> None:
    assert format_verdict(answer(**values)) == verdict


def test_only_the_first_statements_left_out_are_listed() -> None:
    claims = [AnswerClaim(f"It is {number}.", [], "uncited", "it cites nothing", shown=False) for number in range(9)]
    notes = list(list_notes(answer(claims=claims)))
    assert len(notes) == 6
    assert notes[-1] == "left out: 4 more statements"


def test_what_was_left_out_flagged_or_redacted_is_told() -> None:
    told = answer(
        citations=[Citation("a.py", 1, 2, "", verified=False, reason="the file is gone")],
        claims=[
            AnswerClaim("It `lies`\n [1].", [0], "unsupported", "`lies` is not in what it cites", shown=False),
            AnswerClaim("It is [1].", [0], "verified"),
        ],
        flagged=["b.py:1-9: asks for secrets"],
        redacted=2,
    )
    assert list(list_notes(told)) == [
        "not verified: a.py:1-2: the file is gone",
        "left out: It `lies` [1]. (`lies` is not in what it cites)",
        "text that addresses a language model: b.py:1-9: asks for secrets",
        "2 secrets were not shown to the language model",
    ]
    assert list(list_notes(answer(redacted=1))) == ["one secret was not shown to the language model"]


def lines_left(written: str) -> list[str]:
    """Return the lines that are on the screen in the end, as a terminal would show them."""
    rows, row, column, position = [""], 0, 0, 0
    while position < len(written):
        sign = written[position]
        if sign == "\x1b":
            position, row, column = obeyed(written, position, rows, row, column)
            continue
        if sign == "\n":
            row, column = row + 1, 0
            rows += [""] * (row + 1 - len(rows))
        elif sign == "\r":
            column = 0
        else:
            rows[row] = rows[row].ljust(column)[:column] + sign + rows[row][column + 1 :]
            column += 1
        position += 1
    shown = [line.rstrip() for line in rows]
    while shown and not shown[-1]:
        shown.pop()
    return shown


def obeyed(written: str, start: int, rows: list[str], row: int, column: int) -> tuple[int, int, int]:
    """Obey the escape sequence at `start`: cursor up, clear the line; others change nothing."""
    if written[start + 1] == "]":  # a link
        return written.index("\x1b\\", start + 1) + 2, row, column
    end = start + 2
    while not written[end].isalpha():
        end += 1
    if written[end] == "A":
        row = max(0, row - int(written[start + 2 : end] or 1))
    elif written[end] == "K":
        rows[row] = ""
    return end + 1, row, column
