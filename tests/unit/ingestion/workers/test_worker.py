import io

import pytest

from coderag.ingestion.workers.worker import read_message, write_message


def written(*messages):
    stream = io.BytesIO()
    for message in messages:
        write_message(stream, message)
    return stream.getvalue()


def test_messages_round_trip():
    stream = io.BytesIO(written(3, "größe", [None] * 1_000))
    assert [read_message(stream) for _ in range(3)] == [3, "größe", [None] * 1_000]


@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 20])
def test_truncated_message_means_end_of_peer(length):
    content = written("a message of some length")
    assert length < len(content)
    with pytest.raises(EOFError):
        read_message(io.BytesIO(content[:length]))
