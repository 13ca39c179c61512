"""What holds for every provider of language models, over servers that speak their protocols."""

import asyncio
import json
import logging
import socket

import pytest

from coderag.errors import ModelAuthenticationError, ModelError, ModelUnavailableError
from coderag.models.protocols import LanguageModel
from coderag.schema.prompts import CutOff, ModelPrompt
from tests.loopback import Reply

PROMPT = ModelPrompt(user="Where is the session opened?", system="Answer from the evidence.")
ANSWER = "The session is opened in `login`."
KEY = "sk-secret-of-this-test"


async def pieces_of(model, prompt=PROMPT):
    return [piece async for piece in model.stream(prompt)]


async def pieces_before_failure(model, match):
    received = []
    with pytest.raises(ModelUnavailableError, match=match):
        async for piece in model.stream(PROMPT):
            received.append(piece)  # noqa: PERF401  # what comes before the error counts
    return received


async def failure(model, kind=ModelError):
    with pytest.raises(kind) as caught:
        await model.complete(PROMPT)
    return caught.value


# --- replies


async def test_reply_is_streamed_in_the_servers_pieces(case):
    model = case.model()
    assert isinstance(model, LanguageModel)
    assert model.name == f"{case.provider}/{case.model_name}"
    assert await pieces_of(model) == ["The ", "session ", "is ", "opened ", "in ", "`login`."]


async def test_piece_is_yielded_before_the_next_arrives(case):
    first, *rest = case.server.frames(["The ", "session"])
    case.server.next(case.stream(first, *rest[:-2], 30.0, *rest[-2:]))
    pieces = case.model().stream(PROMPT)
    assert await anext(pieces) == "The "
    await pieces.aclose()  # while the server is still silent


async def test_whole_reply_has_the_tokens_that_the_server_counted(case):
    completion = await case.model().complete(PROMPT)
    assert (completion.text, completion.input_tokens, completion.output_tokens) == (ANSWER, 3, 5)


async def test_multibyte_reply_survives_network_splits(case):
    answer = "セッションは `login` で開かれます。 Ja, größer als 🙂!"
    wire = b"".join(case.server.frames([answer]))
    case.server.next(case.stream(*(wire[i : i + 1] for i in range(len(wire)))))
    assert (await case.model().complete(PROMPT)).text == answer


async def test_leading_white_space_is_stripped(case):
    case.server.next(case.server.streamed("\n", " ", "  It is ", "here.\n"))
    assert await pieces_of(case.model()) == ["It is ", "here.\n"]


async def test_rules_and_task_are_sent_separately(case):
    await case.model().complete(PROMPT)
    sent = json.dumps(case.server.bodies[0])
    assert sent.index("Where is the session opened?") >= 0
    assert PROMPT.text not in sent
    assert "Answer from the evidence." in sent


async def test_prompt_without_rules_is_sent(case):
    assert (await case.model().complete(ModelPrompt("Where?"))).text == ANSWER
    assert "system" not in json.dumps(case.server.bodies[0])


async def test_reply_size_and_temperature_follow_the_settings(case):
    await case.model(max_output_tokens=321, temperature=0.7).complete(PROMPT)
    sent = json.dumps(case.server.bodies[0])
    assert ": 321" in sent
    assert ": 0.7" in sent


def test_one_model_serves_several_event_loops(case):
    model = case.model()
    assert [asyncio.run(model.complete(PROMPT)).text for _ in range(2)] == [ANSWER] * 2


async def test_one_model_answers_several_prompts_at_once(case):
    model = case.model()
    completions = await asyncio.gather(*(model.complete(PROMPT) for _ in range(4)))
    assert {completion.text for completion in completions} == {ANSWER}


async def test_model_is_created_without_a_request(case):
    case.model()
    assert case.server.requests == []


async def test_prompt_without_room_for_the_reply_is_rejected_before_sending(case):
    model = case.model(context_window=2_000, max_output_tokens=1_000)
    assert await model.complete(ModelPrompt("a fairly ordinary word " * 200))  # more than 1,000 bytes, fewer tokens
    with pytest.raises(
        ModelError, match=rf"1000 for its reply, is too long for {model.name}, which reads 2000"
    ) as caught:
        await model.complete(ModelPrompt("a fairly ordinary word " * 300))
    assert "llm.context_window" in caught.value.hint
    assert len(case.server.requests) == 1


# --- replies that are none


@pytest.mark.parametrize("text", ["", "  \n"])
async def test_empty_reply_is_an_error(case, text):
    case.server.next(case.server.streamed(text))
    error = await failure(case.model())
    assert str(error) == f"{case.provider}/{case.model_name} sent an empty answer"
    assert len(case.server.requests) == 1


async def test_too_long_reply_is_kept_and_marked(case, caplog):
    too_long = case.server.streamed("The session ", "is opened", finish="length")
    case.server.next(too_long, too_long)
    model = case.model(max_output_tokens=500)
    with caplog.at_level(logging.WARNING):
        *pieces, last = await pieces_of(model)
    assert pieces == ["The session ", "is opened"]
    assert isinstance(last, CutOff)
    assert not last
    assert "cut off at 500 tokens (llm.max_output_tokens)" in caplog.text
    completion = await model.complete(PROMPT)
    assert (completion.text, completion.cut) == ("The session is opened", True)


async def test_complete_reply_is_not_marked_as_cut(case):
    assert not any(isinstance(piece, CutOff) for piece in await pieces_of(case.model()))
    assert not (await case.model().complete(PROMPT)).cut


async def test_exhausted_reasoning_differs_from_an_empty_answer(case):
    case.server.next(case.server.streamed("", finish="length"))
    error = await failure(case.model())
    assert "before the answer began" in str(error)
    assert "llm.max_output_tokens" in error.hint


@pytest.mark.parametrize("complete", [True, False], ids=["ended", "broken"])
async def test_reply_that_is_cut_off_is_an_error_after_its_pieces(case, complete):
    case.server.next(case.stream(*case.server.frames(["The ", "session "], finish=""), complete=complete))
    received = await pieces_before_failure(case.model(), "broke off its reply|broke the connection")
    assert received == ["The ", "session "]
    assert len(case.server.requests) == 1


@pytest.mark.parametrize("complete", [True, False], ids=["ended", "broken"])
async def test_reply_cut_off_before_its_first_piece_is_retried(case, complete):
    case.server.next(case.stream(*case.server.frames([], finish=""), complete=complete))
    assert await pieces_of(case.model()) == ["The ", "session ", "is ", "opened ", "in ", "`login`."]
    assert case.waits == [1.0]


async def test_reply_that_never_begins_is_an_error(case):
    case.server.next(*[case.stream()] * 3)
    assert "broke off its reply" in str(await failure(case.model(), ModelUnavailableError))
    assert len(case.server.requests) == 3


async def test_error_within_a_reply_follows_the_received_pieces(case):
    frames = case.server.frames(["The "], finish="")
    case.server.next(case.stream(*frames, case.server.error_frame("runner has\nrun out of memory")))
    assert await pieces_before_failure(case.model(), "runner has run out of memory") == ["The "]


async def test_invalid_json_within_a_reply_is_an_error(case):
    broken = b'data: {"type": "content_block_delta", "del' if case.provider != "ollama" else b'{"mess'
    event = b"event: content_block_delta\n" if case.provider == "anthropic" else b""
    frames = case.server.frames(["The "], finish="")
    case.server.next(case.stream(*frames, event + broken + b"\n\n"))
    error = await failure(case.model())
    assert "sent an invalid reply" in str(error)
    assert not error.retryable
    assert len(case.server.requests) == 1


@pytest.mark.parametrize("body", ["<html>sign in</html>", "[]", "null", '{"choices": 3, "message": 3, "done": true}'])
async def test_invalid_reply_is_an_error(case, body):
    case.server.next(*[Reply(body)] * 3)
    error = await failure(case.model())
    assert case.server.url in str(error)


# --- time


async def test_silent_server_is_not_retried(case):
    await case.model().complete(PROMPT)  # what the libraries import is no matter of the server
    case.server.next(Reply(delay_s=30))
    error = await failure(case.model(timeout_s=0.3), ModelUnavailableError)
    assert "within 0.3 s" in str(error)
    assert "llm.timeout_s" in error.hint
    assert case.waits == []


async def test_silence_before_the_first_piece_is_a_timeout(case):
    await case.model().complete(PROMPT)
    case.server.next(case.stream(30.0, *case.server.frames(["The "])))
    assert "within 0.3 s" in str(await failure(case.model(timeout_s=0.3), ModelUnavailableError))


async def test_silence_between_pieces_is_a_cut_reply(case):
    await case.model().complete(PROMPT)
    case.server.next(case.stream(*case.server.frames(["The "], finish=""), 30.0))
    match = r"broke off its reply .*no data within 0\.3 s"
    assert await pieces_before_failure(case.model(timeout_s=0.3), match) == ["The "]


async def test_cancelled_caller_returns_at_once(case):
    case.server.next(case.stream(*case.server.frames(["The "], finish=""), 30.0))
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(case.model().complete(PROMPT), 0.5)
    assert len(case.server.requests) <= 1


# --- refused requests


async def test_busy_server_is_retried_after_its_wait(case):
    busy = case.refusal(429, "too many requests", **{"Retry-After": "7"})
    case.server.next(busy, case.refusal(503, "overloaded"))
    assert (await case.model().complete(PROMPT)).text == ANSWER
    assert case.waits == [7.0, 2.0]


async def test_broken_server_is_an_error_after_retries(case):
    case.server.next(*[case.refusal(500, "llama runner terminated")] * 3)
    error = await failure(case.model(), ModelUnavailableError)
    assert "status 500" in str(error)
    assert "llama runner terminated" in str(error)
    assert len(case.server.requests) == 3
    assert case.waits == [1.0, 2.0]


async def test_unreachable_server_is_reported(case):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    error = await failure(case.model(base_url=url), ModelUnavailableError)
    assert f"{case.provider} at {url} cannot be reached" in str(error)
    assert ("ollama serve" in error.hint) is (case.provider == "ollama")
    assert case.waits == []


async def test_missing_model_error_shows_how_to_get_it(case):
    error = await failure(case.model(model="claude-0"), ModelUnavailableError)
    assert "has no model claude-0" in str(error)
    assert ("ollama pull claude-0" if case.provider == "ollama" else "llm.model") in error.hint
    assert len(case.server.requests) == 1


async def test_too_long_prompt_error_names_the_settings(case):
    case.server.next(case.refusal(400, "prompt is too long: 210000 tokens > 200000 maximum"))
    error = await failure(case.model())
    assert "finds the prompt too long" in str(error)
    assert "llm.context_window" in error.hint


async def test_redirect_is_not_followed(case):
    case.server.next(Reply(b"", 307, {"Location": f"{case.server.url}/elsewhere"}))
    assert "status 307" in str(await failure(case.model(api_key=KEY)))
    assert len(case.server.requests) == 1


# --- keys


async def test_key_is_sent_in_the_providers_header(case):
    await case.model(api_key=f" {KEY}\n").complete(PROMPT)
    header = {"anthropic": "x-api-key", "gemini": "x-goog-api-key"}.get(case.provider, "authorization")
    assert case.server.requests[0].headers[header].removeprefix("Bearer ") == KEY
    assert [name for name, value in case.server.requests[0].headers.items() if KEY in value] == [header]


async def test_key_of_a_file_is_sent_and_can_change(case, tmp_path):
    path = tmp_path / "key"
    for key in (KEY, "another-key"):
        path.write_text(f"{key}\n", encoding="utf-8")
        path.chmod(0o600)
        await case.model(api_key_file=str(path)).complete(PROMPT)
        assert key in json.dumps(case.server.requests[-1].headers)


VARIABLES = {
    "OLLAMA_API_KEY": "",
    "OPENAI_API_KEY": "",
    "OPENAI_ADMIN_KEY": "",
    "OPENAI_ORG_ID": "",
    "OPENAI_PROJECT_ID": "",
    "OPENAI_CUSTOM_HEADERS": "X-Own: ",
    "ANTHROPIC_API_KEY": "",
    "ANTHROPIC_AUTH_TOKEN": "",
    "ANTHROPIC_CUSTOM_HEADERS": "X-Own: ",
    "GEMINI_API_KEY": "",
    "GOOGLE_API_KEY": "",
}


@pytest.mark.parametrize("key", ["", "a-key-of-the-settings"])
async def test_environment_values_are_not_sent_to_a_configured_address(case, monkeypatch, key):
    for variable, before in VARIABLES.items():
        monkeypatch.setenv(variable, f"{before}{KEY}")
    await case.model(api_key=key).complete(PROMPT)
    assert KEY not in json.dumps(case.server.requests[0].headers)


async def test_environment_addresses_and_switches_are_ignored(case, monkeypatch):
    for variable in (
        "OPENAI_BASE_URL",
        "OPENAI_API_BASE",
        "ANTHROPIC_BASE_URL",
        "GOOGLE_GEMINI_BASE_URL",
        "OLLAMA_HOST",
    ):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")
    for variable in ("GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_ENTERPRISE"):
        monkeypatch.setenv(variable, "true")
    for variable in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")
    assert (await case.model().complete(PROMPT)).text == ANSWER


@pytest.mark.parametrize("status", [401, 403])
async def test_rejected_key_is_reported_and_not_shown(case, status):
    case.server.next(case.refusal(status, f"invalid key {KEY}"))
    error = await failure(case.model(api_key=KEY), ModelAuthenticationError)
    assert f"status {status}" in str(error)
    assert "llm.api_key" in error.hint
    assert KEY not in f"{error}{error.hint}{error.args}"
    assert error.__cause__ is None
    assert error.__suppress_context__
    assert len(case.server.requests) == 1


async def test_missing_key_error_names_the_setting(case):
    case.server.next(case.refusal(401, "unauthorized"))
    assert "Set llm.api_key" in (await failure(case.model(), ModelAuthenticationError)).hint


async def test_key_repeated_by_the_server_is_not_in_the_message(case, caplog):
    case.server.next(case.refusal(400, f"bad header {KEY}"))
    with caplog.at_level(logging.INFO):
        error = await failure(case.model(api_key=KEY))
    assert "bad header ***" in str(error)
    assert KEY not in caplog.text
    assert KEY not in repr(case.model(api_key=KEY).__dict__)
