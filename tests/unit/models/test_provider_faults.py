import itertools
import socket
import threading

import numpy as np
import pytest

from coderag.errors import ModelError, ModelUnavailableError
from coderag.models.batched_embedding import RequestStoppedError
from tests.loopback import Reply, bag_of_words
from tests.loopback.cases import embedded

# --- faults that pass


def test_busy_server_is_retried_after_its_wait(case):
    case.server.next(Reply({"error": "slow down"}, 429, {"Retry-After": "7"}))
    assert case.model().embed_query("login", []).any()
    assert case.waits == [7.0]


def test_only_the_failed_batch_is_retried(case):
    model = case.model(batch_size=1)
    model.embed_query("login", [])
    case.server.next(case.reply([bag_of_words("a", 64)]), Reply({"error": "busy"}, 503))
    assert embedded(model, ["a", "b"]).shape == (2, 64)
    assert len(case.server.requests) == 1 + 3
    assert case.waits == [1.0]


def test_long_busy_server_is_waited_for_only_while_indexing(case):
    model = case.model()
    model.embed_query("login", [])
    case.server.next(*[Reply({"error": "slow down"}, 429)] * 6)
    assert embedded(model, ["a"]).any()
    assert case.waits == [1, 2, 4, 8, 16, 30]
    case.server.next(*[Reply({"error": "slow down"}, 429)] * 3)
    with pytest.raises(ModelUnavailableError, match="status 429"):
        model.embed_query("logout", [])


def test_slow_server_is_waited_for(case):
    case.server.next(Reply({**case.reply([bag_of_words("a", 64)]).body}, delay_s=0.3))
    assert case.model(timeout_s=5).embed_query("login", []).any()
    assert case.waits == []


def test_broken_server_gets_three_attempts(case):
    case.server.next(*[Reply({"error": "runner terminated"}, 500)] * 3)
    with pytest.raises(ModelUnavailableError, match=r"status 500.*runner terminated") as caught:
        case.model().embed_query("login", [])
    assert case.model_name in str(caught.value)
    assert case.server.url in str(caught.value)
    assert caught.value.retryable
    assert len(case.server.requests) == 3
    assert case.waits == [1.0, 2.0]


def test_long_retry_after_is_not_waited_for(case):
    case.server.next(Reply({"error": "quota"}, 429, {"Retry-After": "3600"}))
    with pytest.raises(ModelUnavailableError, match="retry in 3600 s"):
        case.model().embed_query("login", [])
    assert case.waits == []


def test_silent_server_is_a_timeout(case):
    case.server.next(*[Reply(delay_s=5)] * 3)
    with pytest.raises(ModelUnavailableError, match=r"did not answer .* within 0\.1 s") as caught:
        case.model(timeout_s=0.1).embed_query("login", [])
    assert "embedding.timeout_s" in caught.value.hint
    assert case.waits == [1.0, 2.0]


def test_broken_connection_is_retried(case):
    case.server.next(Reply('{"embeddings": [[0.1', withheld=100))
    assert case.model().embed_query("login", []).any()
    case.server.next(*[Reply("{", withheld=100)] * 3)
    with pytest.raises(ModelUnavailableError, match="broke the connection"):
        case.model().embed_query("login", [])


# --- faults that stay


def test_unreachable_server_is_reported(case):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(ModelUnavailableError, match=f"{case.provider} at {url} cannot be reached") as caught:
        case.model(base_url=url).embed_query("login", [])
    assert case.model_name in str(caught.value)
    assert ("ollama serve" in caught.value.hint) is (case.provider == "ollama")
    assert caught.value.retryable
    assert case.waits == []


def test_missing_model_is_reported(case):
    with pytest.raises(ModelUnavailableError, match="no model all-minilm") as caught:
        case.model(model="all-minilm").embed_query("login", [])
    expected = "ollama pull all-minilm" if case.provider == "ollama" else "embedding.model"
    assert expected in caught.value.hint
    assert len(case.server.requests) == 1


def test_server_other_than_ollama_is_reported(ollama):
    ollama.server.next(Reply("404 page not found", 404, {"Content-Type": "text/plain"}))
    with pytest.raises(ModelUnavailableError, match="404 page not found") as caught:
        ollama.model().embed_query("login", [])
    assert "embedding.base_url" in caught.value.hint


def test_rejected_request_reports_the_reason(case):
    case.server.next(Reply({"error": {"message": "input is\ntoo \x1b[31mlong " + "x" * 1_000}}, 400))
    with pytest.raises(ModelError, match=r"status 400.*input is too \[31mlong x+…$") as caught:
        case.model().embed_query("login", [])
    assert not isinstance(caught.value, ModelUnavailableError)
    assert len(str(caught.value)) < 600
    assert len(case.server.requests) == 1


@pytest.mark.parametrize("body", ['{"embeddings": [[0.1, 0.', "<html>hello</html>", "[]", "null", '{"data": 3}'])
def test_empty_reply_is_reported(case, body):
    case.server.next(Reply(body))
    with pytest.raises(ModelError, match=r"sent an invalid reply|sent 0 vectors") as caught:
        case.model().embed_query("login", [])
    assert not caught.value.retryable
    assert len(case.server.requests) == 1


@pytest.mark.parametrize("content_type", ["text/html", "text/plain"])
def test_html_reply_is_reported(case, content_type):
    case.server.next(Reply("<html>sign in</html>", headers={"Content-Type": content_type}))
    with pytest.raises(ModelError, match="sent an invalid reply"):
        case.model().embed_query("login", [])


def test_reply_without_vectors_is_reported(case):
    case.server.respond = lambda request: case.reply([])
    for embed in (lambda: case.model().embed_query("login", []), lambda: embedded(case.model(), ["a"])):
        with pytest.raises(ModelError) as caught:
            embed()
        assert not caught.value.retryable


@pytest.mark.parametrize(
    "vectors",
    [
        pytest.param([[1.0, 0.0]] * 3, id="too many"),
        pytest.param([[1.0, 0.0], [1.0]], id="ragged"),
        pytest.param([[], []], id="empty"),
    ],
)
def test_reply_of_another_shape_is_reported(case, vectors):
    case.server.respond = lambda request: case.reply(vectors)
    with pytest.raises(ModelError, match=r"vectors of .* components, not 2 of one size"):
        embedded(case.model(), ["a", "b"])


@pytest.mark.parametrize("component", ["NaN", "Infinity", "1e300", "null", '"one"', "[1]"])
def test_components_that_are_not_numbers_are_reported(case, component):
    reply = case.reply([[0.5, 12345.0]])
    case.server.next(Reply(reply.encoded.replace(b"12345.0", component.encode())))
    with pytest.raises(ModelError, match=r"not finite numbers|sent an invalid reply|not vectors"):
        case.model().embed_query("login", [])


def test_changed_dimension_is_reported(case):
    model = case.model()
    model.embed_query("login", [])
    case.server.dimension = 32
    with pytest.raises(ModelError, match="vectors of 32 components after vectors of 64"):
        embedded(model, ["a"])


@pytest.mark.parametrize("vector", [None, 3, "abc"])
def test_values_that_are_not_vectors_are_reported(case, vector):
    case.server.next(case.reply([vector]))
    with pytest.raises(ModelError, match=r"not vectors|sent an invalid reply|not finite numbers"):
        case.model().embed_query("login", [])


# --- texts that are too long


def refusing(case, refused, message="maximum context length is 8 tokens"):
    """Have the server refuse requests as too long, whatever else it would do with them."""
    answer = case.server.respond
    case.server.respond = lambda request: (
        Reply({"error": message}, 400) if refused(request.body["input"]) else answer(request)
    )


def words(text):
    return len(text.split())


def test_too_long_text_is_halved_and_keeps_its_prefix(case):
    refusing(case, lambda texts: any(words(text) > 20 for text in texts))
    model = case.model(text_prefix="to be found: ")
    texts = ["a short one", "a long one " * 33, "another short one"]
    vectors = embedded(model, texts)
    assert vectors.any(axis=1).all()
    assert max(words(text) for text in case.sent[-2]) <= 20
    assert all(text.startswith("to be found: ") for texts in case.sent for text in texts)
    expected = bag_of_words("to be found: a short one", 64)
    np.testing.assert_allclose(vectors[0], expected, rtol=1e-5)
    assert case.waits == []


def test_too_long_batch_is_split(case):
    refusing(case, lambda texts: sum(map(words, texts)) > 10, "Requested 64 tokens, max 10 tokens per request")
    texts = [f"{number} two three" for number in range(16)]
    model = case.model(text_prefix="")
    vectors = embedded(model, texts)
    assert vectors.any(axis=1).all()
    assert len({tuple(vector) for vector in vectors}) > 8


def test_too_long_query_is_halved(case):
    refusing(case, lambda texts: any(words(text) > 20 for text in texts))
    assert case.model().embed_query("where is it " * 30, []).any()


def test_server_that_rejects_every_length_is_an_error(case):
    refusing(case, lambda texts: True)
    for embed in (lambda m: m.embed_query("word " * 300, []), lambda m: embedded(m, ["word " * 300] * 8)):
        case.server.requests.clear()
        with pytest.raises(ModelError, match=r"even a short text too long.*maximum context length") as caught:
            embed(case.model())
        assert not caught.value.retryable
        assert len(case.server.requests) < 15


def test_fault_after_truncation_is_reported_unchanged(case):
    too_long = Reply({"error": "maximum context length is 8 tokens"}, 400)
    for embed in (lambda m: m.embed_query("word " * 300, []), lambda m: embedded(m, ["word " * 300])):
        case.server.next(too_long)
        case.server.respond = lambda request: Reply("<html>")
        with pytest.raises(ModelError, match="sent an invalid reply"):
            embed(case.model())


def test_batch_with_too_many_texts_is_split(case):
    refusing(case, lambda texts: len(texts) > 4, "batch size 32 > maximum allowed batch size 4")
    texts = [f"text {number}" for number in range(32)]
    assert embedded(case.model(), texts).any(axis=1).all()


def test_rejection_of_any_text_does_not_split_a_request(case):
    refusing(case, lambda texts: True, "no such parameter")
    with pytest.raises(ModelError, match="no such parameter"):
        embedded(case.model(), ["a", "b", "c"])
    assert len(case.server.requests) == 2  # and one with a text that every model embeds


# --- texts that a model cannot embed


def poison(case, answer):
    """Have the server answer requests with a poisonous text by ``answer(texts, vectors)``, a reply."""
    respond = case.server.respond

    def answer_poison(request):
        reply, texts = respond(request), request.body["input"]
        return answer(texts) if any("poison" in text for text in texts) else reply

    case.server.respond = answer_poison


def answer_with(case, component):
    """Return an answer with vectors of one component for poisonous texts, and proper ones for others."""

    def answer(texts):
        return case.reply([[component] * 64 if "poison" in text else bag_of_words(text, 64) for text in texts])

    return answer


@pytest.mark.parametrize("number", [1, 2, 33])
@pytest.mark.parametrize("status", [400, 422, 500])
def test_text_that_fails_a_request_stands_alone_without_a_vector(case, status, number):
    poison(case, lambda texts: Reply({"error": "json: unsupported value: NaN"}, status))
    texts = [f"text {position}" for position in range(number)]
    texts[number // 2] = "some poison"
    vectors = embedded(case.model(), texts)
    assert vectors.any(axis=1).tolist() == ["poison" not in text for text in texts]
    assert len(case.waits) <= 2


@pytest.mark.parametrize("component", [0.0, float("nan")])
def test_unusable_vector_of_a_text_is_left_out(case, component):
    poison(case, answer_with(case, component))
    vectors = embedded(case.model(), ["a", "poison", "b", "more poison", "c"])
    assert vectors.any(axis=1).tolist() == [True, False, True, False, True]


def test_text_that_spoils_the_vectors_of_its_request_is_isolated(case):
    poison(case, lambda texts: case.reply([[float("nan")] * 64 for _ in texts]))
    vectors = embedded(case.model(), ["a", "poison", "b"])
    assert vectors.any(axis=1).tolist() == [True, False, True]


@pytest.mark.parametrize(
    "vectors",
    [
        pytest.param(lambda vector: [[None] * 64], id="null for NaN"),
        pytest.param(lambda vector: [[*vector[:-1], None]], id="one null"),
        pytest.param(lambda vector: [None], id="no list"),
        pytest.param(lambda vector: ["NaN"], id="word"),
        pytest.param(lambda vector: [vector[:5]], id="other size"),
        pytest.param(lambda vector: [[]], id="empty"),
        pytest.param(lambda vector: [], id="left out"),
        pytest.param(lambda vector: [vector, vector], id="twice"),
    ],
)
def test_text_without_a_vector_of_its_own_is_isolated(case, vectors):
    def answer(texts):
        rows = [(text, bag_of_words(text, 64)) for text in texts]
        return case.reply([row for text, row in rows for row in (vectors(row) if "poison" in text else [row])])

    poison(case, answer)
    texts = ["a", "b", "poison", "c"]
    result = embedded(case.model(), texts)
    assert result.any(axis=1).tolist() == [True, True, False, True]
    np.testing.assert_allclose(result[3], bag_of_words(case.sent[0][3], 64), rtol=1e-5)


@pytest.mark.parametrize("body", ["<html>no</html>", '{"data": 3}', "null", ""])
def test_text_with_an_unreadable_reply_is_isolated(case, body):
    poison(case, lambda texts: Reply(body))
    assert embedded(case.model(), ["a", "poison", "b"]).any(axis=1).tolist() == [True, False, True]


def test_server_that_answers_with_the_first_vector_only_embeds_all(case):
    case.server.respond = lambda request: case.reply([bag_of_words(request.body["input"][0], 64)])
    assert embedded(case.model(), ["a", "b", "c"]).any(axis=1).all()


def test_accident_in_a_reply_costs_no_vector(case):
    case.server.next(Reply("<html>"))
    assert embedded(case.model(), ["a"]).any()


@pytest.mark.parametrize("status", [400, 500])
def test_model_that_rejects_all_texts_of_a_request_is_at_fault(case, status):
    poison(case, lambda texts: Reply({"error": "no"}, status))
    with pytest.raises(ModelError, match=f"status {status}"):
        embedded(case.model(), ["poison"] * 5)


@pytest.mark.parametrize("component", [0.0, float("nan")])
def test_model_without_usable_vectors_is_refused(case, component):
    case.server.respond = lambda request: case.reply([[component] * 64 for _ in request.body["input"]])
    with pytest.raises(ModelError, match=r"vectors? of zeros|not finite numbers"):
        _ = case.model().info
    with pytest.raises(ModelError, match=r"vectors? of zeros|not finite numbers"):
        embedded(case.model(), ["a", "b", "c", "d"])
    with pytest.raises(ModelError, match=r"vectors? of zeros|not finite numbers"):
        case.model().embed_query("login", [])


# --- what was embedded before a fault


def test_vectors_before_a_failed_request_are_yielded(case):
    model = case.model(batch_size=1)._model
    answers = [case.reply([bag_of_words("a", 64)])] * 2
    case.server.next(*answers, Reply({"error": "no"}, 403))
    parts = []
    with pytest.raises(ModelError, match="status 403"):
        parts.extend(model.embed_requests(["a", "b", "c", "d"]))  # extend keeps what came before the error
    assert [positions for positions, _ in parts] == [[0], [1]]
    assert len(case.server.requests) == 3


def test_failure_stops_concurrent_requests_and_keeps_their_results(case):
    model = case.model(batch_size=1, concurrency=3)._model
    model.embed_query("login")  # so that the dimension is known
    failed, order, lock = threading.Event(), itertools.count(), threading.Lock()
    answer = case.server.respond

    def respond(request):
        with lock:
            number = next(order)
        if number == 1:
            failed.set()
            return Reply({"error": "no"}, 403)
        failed.wait(5)
        return answer(request)

    case.server.respond = respond
    parts = []
    with pytest.raises(ModelError, match="status 403"):
        parts.extend(model.embed_requests([f"text {number}" for number in range(30)]))
    assert 2 <= len(parts) < 10
    assert all(vectors.shape == (1, 64) for _, vectors in parts)
    assert len(case.server.requests) < 12


def test_pending_retry_is_cancelled_after_a_failure(case):
    model, stopped = case.model()._model, threading.Event()
    model._sleep = lambda seconds: stopped.set()
    case.server.next(Reply({"error": "busy"}, 503))
    with pytest.raises(RequestStoppedError):
        model._embed_batch(["login"], stopped)
    assert len(case.server.requests) == 1
