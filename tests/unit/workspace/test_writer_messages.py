import io

import pytest

from coderag import errors
from coderag.errors import CodeRAGError, IndexLockedError
from coderag.schema.indexing import IndexProgress, IndexReport
from coderag.workspace.writer_messages import IndexTask, parse_reply, parse_task, write_reply, write_task

CLASSES = [
    kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, CodeRAGError)
]  # fmt: skip


def through_the_pipe(write, message):
    stream = io.BytesIO()
    write(stream, message)
    line = stream.getvalue()
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    return line


@pytest.mark.parametrize(
    "task",
    [
        IndexTask("/repo", trusted=True),
        IndexTask("/with\nnewline", trusted=False, full=True, edited=["a.py", "über.py", "not\udcffutf8"]),
    ],
)
def test_a_task_arrives_as_it_was_sent(task):
    assert parse_task(through_the_pipe(write_task, task)) == task


@pytest.mark.parametrize(
    "reply",
    [
        IndexProgress("chunk", 3, 7),
        IndexReport(
            4, {"indexed": 2}, 9, 8, 7, 6, 1, 1, 0, 0, 0, failed=[("a\udcff.py", "binär")], seconds={"scan": 0.5}
        ),
    ],
)
def test_progress_and_report_arrive_as_they_were_sent(reply):
    assert parse_reply(through_the_pipe(write_reply, reply)) == reply


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_an_error_arrives_as_its_class_with_its_hint(kind):
    error = parse_reply(through_the_pipe(write_reply, kind("what failed", hint="what to do")))
    assert type(error) is kind
    assert (str(error), error.hint) == ("what failed", "what to do")


def test_an_error_of_a_class_unknown_here_arrives_as_the_base_of_all():
    kind = type("NewKindOfError", (IndexLockedError,), {})
    assert type(parse_reply(through_the_pipe(write_reply, kind("what failed")))) is CodeRAGError


@pytest.mark.parametrize("line", [b"", b"hello\n", b"{}\n", b'{"error": {}}\n', b"3\n"])
def test_what_is_no_reply_is_refused(line):
    with pytest.raises(ValueError):
        parse_reply(line)
