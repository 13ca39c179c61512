"""The slash commands of a conversation, what the prompt completes and remembers, and how editors are called."""

import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory, InMemoryHistory

from coderag.engine.chat import ChatTurn
from coderag.errors import ConfigurationError, InvalidQueryError
from coderag.interfaces.cli.commands.chat.completion import ChatCompleter, PrefixIndex
from coderag.interfaces.cli.commands.chat.editor import build_command, find_editor
from coderag.interfaces.cli.commands.chat.prompt import join_fitting, make_history, prepare_history_file
from coderag.interfaces.cli.commands.chat.session import ChatSession
from coderag.interfaces.cli.commands.chat.slash_commands import COMMANDS, is_command, run_command
from coderag.interfaces.cli.commands.chat.transcript import print_verdict, shorten_answer
from coderag.interfaces.cli.output.streams import Output
from tests.interfaces.test_cli_answer import lines_left
from tests.interfaces.test_cli_terminal import Terminal
from tests.support.chats import make_shop


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    return make_shop(tmp_path_factory.mktemp("chats") / "shop")


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"TERM": "xterm-256color", "COLUMNS": "100", "LINES": "40"}.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def talk(shop):
    threads = shop.open_chat_threads()
    for info in threads.list():
        threads.delete(info.id)
    return ChatSession(shop, shop.chat("first"), Output(), yes=False, debug=False)


@pytest.fixture
def asked(talk):
    """A conversation with one answer."""
    talk.ask("who calls round_up?")
    return talk


def written(step, *arguments) -> str:
    """Return what a step writes to a terminal."""
    terminal = Terminal()
    with redirect_stdout(terminal), redirect_stderr(terminal):
        step(*arguments)
    return terminal.getvalue()


def shown(step, *arguments) -> str:
    """Return what is on the screen then."""
    return "\n".join(lines_left(written(step, *arguments)))


# Which text is a command


@pytest.mark.parametrize("text", ["/help", "/", "/show 2", "  /quit ", "/Nonsense x", "/?"])
def test_a_slash_and_a_word_is_a_command(text) -> None:
    assert is_command(text)


@pytest.mark.parametrize("text", ["/src/app.py what is it", "/api/users", "who calls /help", "/help\nwith more", "a/b"])
def test_a_path_and_a_question_is_none(text) -> None:
    assert not is_command(text)


@pytest.mark.parametrize(("typed", "meant"), [("/hlep", "/help"), ("/exprot x", "/export"), ("/thread", "/threads")])
def test_a_misspelt_command_gets_the_nearest_one(talk, typed, meant) -> None:
    with pytest.raises(InvalidQueryError, match="unknown command") as error:
        run_command(talk, typed)
    assert error.value.hint == f"Did you mean {meant}?"


def test_a_command_that_takes_nothing_says_so(talk) -> None:
    with pytest.raises(InvalidQueryError, match="/quit takes no argument"):
        run_command(talk, "/quit now")
    assert not talk.is_finished


def test_help_names_every_command(talk) -> None:
    text = shown(run_command, talk, "/help")
    for name in COMMANDS:
        assert name in text


def test_quit_ends(talk) -> None:
    run_command(talk, "/Q")
    assert talk.is_finished


# What was cited


def test_numbers_are_below_an_answer_that_does_not_show_them(asked) -> None:
    text = shown(print_verdict, asked)
    assert "the files" in text
    for number, citation in enumerate(asked.answer.citations, 1):
        assert f"[{number}] {citation.location}" in text


def test_show_lists_the_numbers(asked) -> None:
    listed = shown(run_command, asked, "/show").splitlines()
    assert listed == [f"[{number}] {place}" for number, place in enumerate(asked.cited_places, 1)]


@pytest.mark.parametrize("command", ["/show 1", "/cite [1]", "/show #1"])
def test_show_prints_the_cited_lines_with_their_numbers(asked, command) -> None:
    path, _, lines = asked.cited_places[0].partition(":")
    first = int(lines.partition("-")[0])
    cited = (asked.rag.root / path).read_text().split("\n")[first - 1]
    text = shown(run_command, asked, command)
    assert f"{first} {cited}" in text


def test_show_prints_a_place_that_is_typed_within_its_declaration(talk) -> None:
    text = shown(run_command, talk, "/show shop/money.py:3")
    assert "shop/money.py:1-3" in text
    assert "1 def round_up(value):" in text
    assert "❱ 3     return int(value + 0.5)" in text


def test_show_tells_which_numbers_there_are(asked) -> None:
    with pytest.raises(InvalidQueryError) as error:
        run_command(asked, "/show 99")
    assert error.value.hint == f"Citations are numbered from 1 to {len(asked.cited_places)}."


@pytest.mark.parametrize("command", ["/show", "/show 1", "/open", "/open 2"])
def test_without_an_answer_no_place_has_a_number(talk, command) -> None:
    with pytest.raises(InvalidQueryError, match="nothing is cited yet"):
        run_command(talk, command)


@pytest.mark.parametrize("place", ["../outside.py:1", "shop/gone.py:1-2", "/etc/passwd:1"])
def test_show_reads_only_files_of_the_repository(talk, place) -> None:
    with pytest.raises(InvalidQueryError, match="there is no file"):
        run_command(talk, f"/show {place}")


def test_lines_that_were_shown_have_no_verdict_and_keep_the_numbers(asked) -> None:
    before = asked.cited_places
    asked.ask("show me the first one")
    text = shown(print_verdict, asked)
    assert text == ""
    assert asked.cited_places == before


def test_a_place_cannot_command_the_terminal(shop, talk) -> None:
    (shop.root / "shop/hostile.txt").write_text("a\x1b]0;title\x07b\n")
    text = written(run_command, talk, "/show shop/hostile.txt:1")
    assert "\x1b]0;" not in text
    assert r"a\x1b]0;title\x07b" in text


def test_context_tells_what_the_last_answer_rests_on(asked) -> None:
    text = shown(run_command, asked, "/context")
    assert "results for: who calls round_up?" in text
    for hit in asked.answer.hits:
        assert hit.location in text
    assert "no language model is configured" in text


def test_context_of_an_earlier_run_is_not_known(talk) -> None:
    with pytest.raises(InvalidQueryError, match="known only in the session that asked"):
        run_command(talk, "/context")


# Conversations


def test_new_begins_another_conversation(asked) -> None:
    run_command(asked, "/new second")
    assert asked.chat.thread == "second"
    assert not asked.turns
    assert asked.answer is None
    run_command(asked, "/resume fir")
    assert asked.chat.thread == "first"
    assert [turn.text for turn in asked.turns][:1] == ["who calls round_up?"]


def test_resume_shows_the_last_exchange(asked) -> None:
    run_command(asked, "/new")
    assert "> who calls round_up?" in shown(run_command, asked, "/resume")


def test_resume_refuses_what_is_not_there(asked) -> None:
    with pytest.raises(InvalidQueryError, match="no conversation 'third'"):
        run_command(asked, "/resume third")
    with pytest.raises(InvalidQueryError, match="no other conversation"):
        run_command(asked, "/resume")
    assert asked.chat.thread == "first"


def test_a_beginning_that_several_have_is_refused(asked) -> None:
    run_command(asked, "/new fiction")
    asked.ask("where is Cart defined?")
    with pytest.raises(InvalidQueryError, match="2 conversations match 'fi'") as error:
        run_command(asked, "/resume fi")
    assert "first" in error.value.hint


def test_threads_marks_the_current_one(asked) -> None:
    text = shown(run_command, asked, "/threads")
    assert "first *" in text
    assert "who calls round_up?" in text


def test_retry_asks_what_the_last_question_meant(asked) -> None:
    asked.ask("who calls it?")
    meant = asked.turns[-2].question
    assert "round_up" in meant
    run_command(asked, "/retry")
    assert asked.turns[-2].text == meant


def test_retry_without_a_question_says_so(talk) -> None:
    with pytest.raises(InvalidQueryError, match="no question yet"):
        run_command(talk, "/retry")


def test_last_prints_the_answer_again(asked) -> None:
    text = shown(run_command, asked, "/last")
    assert "round_up" in text


@pytest.mark.parametrize(("name", "begins"), [("chat.md", "# Conversation first"), ("chat.json", "{")])
def test_export_writes_a_file_and_never_over_another_one_unasked(asked, tmp_path, name, begins) -> None:
    run_command(asked, f"/export {tmp_path / name}")
    assert (tmp_path / name).read_text().startswith(begins)
    with pytest.raises(InvalidQueryError, match="cannot prompt"):
        run_command(asked, f"/export {tmp_path / name}")


def test_export_has_a_name_of_its_own(asked, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_command(asked, "/export")
    assert (tmp_path / "chat-first.md").is_file()


def test_delete_asks_and_then_begins_anew(asked, shop) -> None:
    with pytest.raises(InvalidQueryError, match="cannot prompt"):
        run_command(asked, "/delete")
    asked.yes = True
    run_command(asked, "/delete")
    assert shop.open_chat_threads().list() == []
    assert asked.chat.thread != "first"


# Short forms


def test_a_long_answer_is_shortened_without_its_fences() -> None:
    turn = ChatTurn("assistant", "One.\n\n```python\nx = 1\n```\n\n" + "- more\n" * 9)
    assert shorten_answer(turn) == ["One.", "x = 1", "- more", "- more", "… 7 more lines: /last shows all"]
    assert shorten_answer(ChatTurn("assistant", "One.\nTwo.\n")) == ["One.", "Two."]


@pytest.mark.parametrize(
    ("width", "text"), [(80, "abc · 3 turns · model"), (14, "abc · 3 turns"), (5, "abc"), (2, "ab")]
)
def test_the_toolbar_drops_what_has_no_room(width, text) -> None:
    assert join_fitting(["abc", "3 turns", "model"], width) == text


# Completion


def completed(talk: ChatSession, typed: str, *, tab: bool = False) -> list[str]:
    event = CompleteEvent(completion_requested=tab, text_inserted=not tab)
    return [found.text for found in ChatCompleter(talk).get_completions(Document(typed), event)]


def test_commands_are_completed(talk) -> None:
    assert completed(talk, "/re") == ["/retry", "/resume"]


def test_arguments_are_completed(asked) -> None:
    assert completed(asked, "/show ") == [str(number) for number in range(1, len(asked.cited_places) + 1)]
    run_command(asked, "/new")
    assert completed(asked, "/resume f") == ["first"]


def test_words_of_plain_english_are_completed_only_on_tab(talk) -> None:
    assert completed(talk, "what does che") == []
    assert completed(talk, "what does che", tab=True) == ["checkout"]
    assert completed(talk, "what does `che", tab=True) == ["checkout"]


@pytest.mark.parametrize(
    ("typed", "found"), [("in shop/m", "shop/money.py"), ("round_", "round_up"), ("Cart.T", "Cart.total")]
)
def test_paths_and_names_of_code_are_completed_as_they_are_typed(talk, typed, found) -> None:
    assert found in completed(talk, typed)


def test_beginnings_are_found_in_any_case_and_in_order() -> None:
    names = PrefixIndex({"beta": "2", "Alpha": "1", "alps": "3", "gamma": ""})
    assert list(names.find_by_prefix("AL")) == [("Alpha", "1"), ("alps", "3")]
    assert list(names.find_by_prefix("x")) == []


# History


@pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX")
def test_what_was_typed_is_kept_for_its_owner_only(talk) -> None:
    history = make_history(talk)
    assert isinstance(history, FileHistory)
    history.store_string("where is it?\ud800")
    assert list(history.load_history_strings()) == ["where is it??"]
    file = Path(history.filename)
    assert file.parent.name == ".coderag"
    assert file.stat().st_mode & 0o777 == 0o600


def test_what_was_typed_is_not_kept_where_conversations_are_not(tmp_path) -> None:
    rag = make_shop(tmp_path / "shop", chat={"memory": "none"})
    talk = ChatSession(rag, rag.chat(), Output(), yes=False, debug=False)
    assert isinstance(make_history(talk), InMemoryHistory)


def test_of_a_long_history_the_newer_half_stays(tmp_path) -> None:
    file = tmp_path / "history"
    history = FileHistory(str(file))
    for number in range(12_000):
        history.store_string(f"{number} {'x' * 80}")
    prepare_history_file(file)
    assert file.stat().st_size <= 1 << 19
    kept = list(history.load_history_strings())
    assert kept[0].startswith("11999 ")
    assert all(len(text) > 80 for text in kept)


# Editors


@pytest.mark.parametrize(
    ("editor", "arguments"),
    [
        ("code", ["--goto", "{file}:7"]),
        ("codium.cmd", ["--goto", "{file}:7"]),
        ("hx", ["{file}:7"]),
        ("nvim", ["+7", "{file}"]),
        ("emacsclient", ["+7", "{file}"]),
        ("pycharm", ["--line", "7", "{file}"]),
        ("unknown", ["{file}"]),
    ],
)
def test_an_editor_opens_at_the_line(tmp_path, editor, arguments) -> None:
    file = tmp_path / "a.py"
    command = build_command([f"/usr/bin/{editor}", "-x"], file, 7)
    assert command == [f"/usr/bin/{editor}", "-x", *(one.format(file=file) for one in arguments)]


def test_visual_comes_before_editor_and_may_have_arguments() -> None:
    program, *arguments = find_editor({"VISUAL": f'"{sys.executable}" -w', "EDITOR": "nonsense"})
    assert Path(program) == Path(sys.executable)
    assert arguments == ["-w"]


@pytest.mark.parametrize(
    ("environment", "told"), [({}, "no editor is set"), ({"EDITOR": "no-such-editor"}, "is not installed")]
)
def test_an_editor_that_is_not_there_is_told(environment, told) -> None:
    with pytest.raises(ConfigurationError, match=told):
        find_editor(environment)


@pytest.mark.skipif(sys.platform == "win32", reason="a script")
def test_open_calls_the_editor(asked, tmp_path, monkeypatch) -> None:
    editor = tmp_path / "nano"
    editor.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/called\n')
    editor.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(editor))
    path, _, lines = asked.cited_places[1].partition(":")
    run_command(asked, "/open 2")
    assert (tmp_path / "called").read_text() == f"+{lines.partition('-')[0]} {asked.rag.root / path}\n"
