"""Requests to the service, and what goes wrong with them."""

import json
import os
from collections.abc import Callable
from typing import Any

import pytest

from coderag import __version__
from coderag.errors import (
    AmbiguousNameError,
    CodeRAGError,
    IndexLockedError,
    IndexNotFoundError,
    ServiceBusyError,
    ServiceError,
)
from coderag.interfaces.json_values import encode_json
from coderag.interfaces.rest.problems import to_problem
from coderag.schema.graph import GraphDeclaration
from coderag.service.client import ServiceClient, to_error
from coderag.service.service_address import ServiceAddress
from tests.unit.service.answering import Answering

Replying = Callable[[bytes], Answering]


def client_of(program: Answering) -> ServiceClient:
    return ServiceClient(ServiceAddress(os.getpid(), __version__, program.address, "", "token", ""))


def reply(body: bytes, head: str = "content-length: {length}", status: str = "200 OK") -> bytes:
    return f"HTTP/1.1 {status}\r\n{head.format(length=len(body))}\r\n\r\n".encode() + body


@pytest.mark.parametrize(
    "answer",
    [
        reply(b'{"a": 1}'),
        reply(b'3\r\n{"a\r\n5;x=y\r\n": 1}\r\n0\r\n\r\n', "transfer-encoding: chunked"),
        reply(b'{"a": 1}', "connection: close"),
    ],
    ids=["with its length", "in chunks", "up to the end"],
)
def test_a_reply_is_read_however_it_is_sent(replying: Replying, answer: bytes) -> None:
    assert client_of(replying(answer)).call("GET", "/x") == {"a": 1}


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1",
        b"nonsense\r\n\r\n",
        reply(b"{", "content-length: 100"),
        reply(b"5\r\n{", "transfer-encoding: chunked"),
        reply(b"not json"),
        reply(b"<html>", status="502 Bad Gateway"),
    ],
)
def test_what_is_no_whole_reply_is_a_fault_of_the_service(replying: Replying, answer: bytes) -> None:
    with pytest.raises(ServiceError):
        client_of(replying(answer)).call("GET", "/x")


def test_a_service_that_is_gone_is_an_error(answering: Answering) -> None:
    client = client_of(answering)
    answering.close()
    with pytest.raises(ServiceError, match=r"cannot be reached|broke off"):
        client.call("GET", "/x")


def test_a_request_carries_the_token_and_its_body(replying: Replying) -> None:
    program = replying(reply(b"{}"))
    client_of(program).call("POST", "/x", {"query": "ü"})
    assert b"Authorization: Bearer token" in program.received


@pytest.mark.parametrize(
    "error",
    [
        IndexNotFoundError("not indexed", hint="Run it."),
        IndexLockedError("locked"),
        ServiceBusyError("busy", hint="Wait."),
        AmbiguousNameError("two", candidates=[GraphDeclaration("a", "m.a", "function", "m.py", 1, 2)]),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_comes_back_as_it_was(error: CodeRAGError) -> None:
    back = to_error(json.loads(encode_json(to_problem(error))))
    assert told(back) == told(error)


@pytest.mark.parametrize("kind", ["InvalidRequestError", "InternalError", "Sequence", "", "annotations"])
def test_an_error_that_is_none_of_ours_is_one_of_the_service(kind: str) -> None:
    assert type(to_error({"type": kind, "detail": "bad"})) is ServiceError


def test_events_are_read_with_comments_between_them(replying: Replying) -> None:
    body = b': still here\n\nevent: stage\ndata: {"text": "search"}\n\nevent: answer\r\ndata: {"a": 1}\r\n\r\n'
    events = list(client_of(replying(reply(body, "connection: close"))).stream_events("GET", "/x"))
    assert [(event.name, event.data) for event in events] == [("stage", {"text": "search"}), ("answer", {"a": 1})]


def test_an_error_among_the_events_is_raised(replying: Replying) -> None:
    body = b'event: error\ndata: {"type": "ModelUnavailableError", "detail": "down"}\n\n'
    with pytest.raises(CodeRAGError, match="down"):
        list(client_of(replying(reply(body, "connection: close"))).stream_events("GET", "/x"))


def told(error: CodeRAGError) -> tuple[Any, ...]:
    return type(error), str(error), error.hint, error.retryable, getattr(error, "candidates", ())
