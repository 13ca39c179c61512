"""Structured logs: one JSON object a line, and what is never in them."""

import io
import json
import logging

import pytest

from coderag.server.logs import FIELDS, REQUEST_ID, configure_logs


@pytest.fixture
def stream():
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    stream = io.StringIO()
    configure_logs("INFO", stream)
    yield stream
    root.handlers[:] = handlers
    root.setLevel(level)


def read(stream):
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_record_is_one_line_with_its_fields_and_request(stream):
    token = REQUEST_ID.set("abc123")
    logging.getLogger("coderag.test").warning("two\nlines of %s", "text", extra={FIELDS: {"status": 200}})
    REQUEST_ID.reset(token)
    (line,) = read(stream)
    assert line.pop("time").endswith("+00:00")
    assert line == {
        "level": "warning", "logger": "coderag.test", "message": "two\nlines of text",
        "request_id": "abc123", "status": 200,
    }  # fmt: skip


def test_exception_is_logged_without_what_a_caller_sent(stream):
    try:
        int("who stores passwords?")
    except ValueError:
        logging.getLogger("coderag.test").exception("internal error")
    (line,) = read(stream)
    assert line["error"] == "ValueError"
    assert line["frames"][0].endswith("test_exception_is_logged_without_what_a_caller_sent")
    assert "passwords" not in json.dumps({name: value for name, value in line.items() if name != "frames"})


def test_access_logs_and_chatter_of_other_packages_are_dropped(stream):
    logging.getLogger("uvicorn.access").warning("GET /api/v1/file?root=secret")
    logging.getLogger("httpx").setLevel(logging.INFO)
    logging.getLogger("httpx").info("POST https://models.example/?key=secret")
    logging.getLogger("httpx").warning("kept")
    logging.getLogger("uvicorn.error").info("started")
    logging.getLogger("coderag.test").debug("below the level")
    assert [line["message"] for line in read(stream)] == ["kept", "started"]
