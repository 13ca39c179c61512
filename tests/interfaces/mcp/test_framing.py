"""Lines cut out of a stream."""

import pytest

from coderag.interfaces.mcp.framing import LineCutter, get_message_id, parse_message


def lines_of(*parts: bytes, limit: int = 100) -> list[bytes | None]:
    cutter = LineCutter(limit)
    return [line for part in parts for line in cutter.cut(part)]


def test_a_line_may_come_in_pieces() -> None:
    assert lines_of(b'{"a"', b": 1", b"}\n{") == [b'{"a": 1}']


def test_several_lines_may_come_at_once() -> None:
    assert lines_of(b"one\ntwo\nthr") == [b"one", b"two"]


def test_ends_of_windows_and_empty_lines_are_no_part_of_a_message() -> None:
    assert lines_of(b"one\r\n\r\n\ntwo\r\n") == [b"one", b"two"]


def test_a_line_of_the_greatest_length_is_taken() -> None:
    assert lines_of(b"x" * 100 + b"\n") == [b"x" * 100]


def test_a_longer_line_is_told_once_and_the_next_one_is_taken() -> None:
    assert lines_of(b"x" * 60, b"x" * 60, b"x" * 60, b"x\nnext\n") == [None, b"next"]


@pytest.mark.parametrize("line", [b"{", b"[]", b"1", b'{"id": 1}', b"\xff\xfe", b"[" * 100_000, b"9" * 5000])
def test_what_is_no_message_is_none(line) -> None:
    assert parse_message(line) is None


@pytest.mark.parametrize(
    ("given", "id_"), [(1, 1), ("a", "a"), (0, 0), (True, None), (None, None), ([1], None), (1.5, None)]
)
def test_an_id_is_a_number_or_a_text(given, id_) -> None:
    assert get_message_id({"id": given}) == id_
