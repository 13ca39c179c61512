from concurrent.futures import ThreadPoolExecutor

import pytest

from coderag.errors import InvalidQueryError, StoreError
from coderag.stores.context_sessions import ContextSessions


@pytest.fixture
def sessions(tmp_path):
    return ContextSessions(tmp_path / ".coderag")


def test_session_persists_across_processes(sessions, tmp_path):
    sessions.update("chat-1", lambda earlier: [*earlier, "a.py:1-2#00"])
    sessions.update("chat-1", lambda earlier: [*earlier, "ü.py:3-4#11"])
    assert ContextSessions(tmp_path / ".coderag").read("chat-1") == ["a.py:1-2#00", "ü.py:3-4#11"]


def test_missing_session_has_no_keys(sessions):
    assert sessions.read("new") == []
    assert not sessions.forget("new")


def test_forgotten_session_starts_over(sessions):
    sessions.update("chat", lambda _: ["a"])
    assert sessions.forget("chat")
    assert sessions.read("chat") == []


@pytest.mark.parametrize("name", ["", "../up", "a/b", ".hidden", "a" * 65, "con:1", "x\n"])
def test_invalid_session_name_is_rejected(sessions, name):
    with pytest.raises(InvalidQueryError, match="session"):
        sessions.read(name)


@pytest.mark.parametrize("content", [b"", b"{}", b"[1]", b"\xff"])
def test_damaged_session_file_error_has_a_hint(sessions, tmp_path, content):
    sessions.update("chat", lambda _: ["a"])
    (tmp_path / ".coderag" / "sessions" / "chat.json").write_bytes(content)
    with pytest.raises(StoreError) as caught:
        sessions.read("chat")
    assert "--forget" in caught.value.hint
    assert sessions.forget("chat")


def test_concurrent_updates_are_all_stored(sessions):
    def add(number):
        sessions.update("chat", lambda earlier: [*earlier, str(number)])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(add, range(20)))
    assert sorted(sessions.read("chat"), key=int) == [str(number) for number in range(20)]


def test_the_number_of_sessions_is_bounded(sessions, tmp_path):
    for number in range(103):
        sessions.update(f"s{number}", lambda _: ["a"])
    assert len(list((tmp_path / ".coderag" / "sessions").glob("*.json"))) == 100
    assert sessions.read("s102") == ["a"]
