import io

import pytest

from coderag.ingestion.workers.worker import read_message, write_message


def written(*messages):
    stream = io.BytesIO()
    for message in messages:
        write_message(stream, message)
    return stream.getvalue()


def test_messages_are_read_as_they_were_written():
    stream = io.BytesIO(written(3, "größe", [None] * 1_000))
    assert [read_message(stream) for _ in range(3)] == [3, "größe", [None] * 1_000]


@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 20])
def test_a_message_that_breaks_off_means_that_the_other_side_is_gone(length):
    content = written("a message of some length")
    assert length < len(content)
    with pytest.raises(EOFError):
        read_message(io.BytesIO(content[:length]))
