from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from coderag.errors import ConfigurationError, ModelError
from coderag.models.remote_errors import (
    CutReplyError,
    Remote,
    RequestFault,
    RetryPolicy,
    build_model_error,
    find_fault,
    translate_remote_errors,
)

KEY = "sk-secret-of-this-test"


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("12", 12),
        (" 0 ", 0),
        ("in 3,000 s", 3_000),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0),
        ("Wed, 21 Oct 2015 07:28:00 -0000", 0),
        ("soon", None),
        ("-3", None),
        ("", None),
    ],
)
def test_retry_after_is_a_number_or_a_date(header, seconds):
    import httpx

    if header == "in 3,000 s":  # as a date, made when the test runs and not when it was collected
        header = format_datetime(datetime.now(UTC) + timedelta(seconds=3_000), usegmt=True)
    request = httpx.Request("POST", "http://localhost/")
    response = httpx.Response(429, headers={"Retry-After": header} if header else {}, request=request)
    fault = find_fault(httpx.HTTPStatusError("busy", request=request, response=response))
    assert fault is not None
    assert fault.retry_after_s == (None if seconds is None else pytest.approx(seconds, abs=120))


def test_waits_double_up_to_the_maximum():
    waits = []

    def fail():
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        RetryPolicy(attempts=6, max_wait_s=5).call(fail, waits.append)
    assert waits == [1, 2, 4, 5, 5]


def test_unrelated_errors_pass_through():
    class OwnError(Exception):
        pass

    remote = Remote("ollama", "m", "http://localhost", "embedding", 1.0)
    for error in (OwnError(), ModelError("already mapped"), ConfigurationError("settings")):
        with pytest.raises(type(error)) as caught, translate_remote_errors(remote):
            raise error
        assert caught.value is error
        assert find_fault(error) is None


def test_remotes_key_is_not_in_its_repr():
    assert KEY not in repr(Remote("openai", "m", "http://localhost", "embedding", 1.0, KEY))


def test_fault_without_a_key_setting_has_its_own_hint():
    remote = Remote("ollama", "m", "http://localhost", "reranker", 1.0)
    assert "A key cannot be set in reranker" in build_model_error(RequestFault("status", 401), remote).hint


def test_busy_server_gets_more_retries_than_a_broken_one():
    import httpx

    def requests_until_given_up(status):
        waits = []
        request = httpx.Request("POST", "http://localhost/")

        def fail():
            response = httpx.Response(status, request=request)
            raise httpx.HTTPStatusError("no", request=request, response=response)

        with pytest.raises(httpx.HTTPStatusError):
            RetryPolicy(busy_attempts=5).call(fail, waits.append)
        return len(waits) + 1

    assert [requests_until_given_up(status) for status in (429, 503, 400)] == [5, 3, 1]


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "This model's maximum context length is 8192 tokens, however you requested 9001 tokens"),
        (400, "Invalid 'input[0]': maximum input length is 8192 tokens."),
        (400, "Requested 344000 tokens, max 300000 tokens per request"),
        (400, "the input length exceeds the context length"),
        (400, "input exceeds maximum context length and cannot be truncated further"),
        (400, "The max allowed tokens per submitted batch is 120000. Your batch has 130000 tokens after truncation."),
        (413, "Input validation error: `inputs` must have less than 512 tokens. Given: 600"),
        (413, "<html>Request Entity Too Large</html>"),
        (422, "batch size 64 > maximum allowed batch size 32"),
        (500, "input (600 tokens) is too large to process. increase the physical batch size"),
        (400, "request (600 tokens) exceeds the available context size (512 tokens)"),
        (400, "prompt is too long: 210000 tokens > 200000 maximum"),
        (400, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."),
    ],
)
def test_messages_about_long_texts_are_recognized(status, message):
    fault = RequestFault("status", status, message)
    assert fault.is_too_long
    assert not fault.is_transient
    assert "embedding.max_tokens" in build_model_error(fault, Remote("openai", "m", "http://x", "embedding", 1.0)).hint
    assert "llm.context_window" in build_model_error(fault, Remote("openai", "m", "http://x", "llm", 1.0)).hint


@pytest.mark.parametrize("error", [TimeoutError(), ConnectionResetError(), CutReplyError("no end")])
def test_fault_without_http_can_be_transient(error):
    assert find_fault(error).is_transient


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "encoding_format base64 is not supported"),
        (400, "unknown model"),
        (429, "Rate limit reached: limit 1000000 tokens per minute"),
        (401, "token exceeded"),
        (500, "llama runner process has terminated"),
        (503, "server overloaded, too many requests in the queue"),
    ],
)
def test_other_rejections_are_not_length_faults(status, message):
    assert not RequestFault("status", status, message).is_too_long
