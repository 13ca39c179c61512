import pytest

from coderag.models.batched_embedding import RequestLimits, split_requests


def test_requests_respect_the_text_limit_without_blank_texts():
    texts = ["a", "", "b", " \n", "c", "d", "e"]
    assert list(split_requests(texts, RequestLimits(2))) == [[0, 2], [4, 5], [6]]
    assert list(split_requests(["", " "], RequestLimits(2))) == []


def test_requests_respect_the_token_limit():
    texts = ["word " * 100] * 10
    requests = list(split_requests(texts, RequestLimits(100, tokens=500)))
    assert [position for request in requests for position in request] == list(range(10))
    assert all(2 <= len(request) <= 4 for request in requests[:-1])


def test_text_beyond_the_limit_goes_alone():
    texts = ["a", "word " * 1_000, "b"]
    assert list(split_requests(texts, RequestLimits(100, tokens=50))) == [[0], [1], [2]]


@pytest.mark.parametrize("count", [0, 1, 31, 32, 33])
def test_each_text_is_in_one_request(count):
    requests = list(split_requests(["x"] * count, RequestLimits(32)))
    assert [position for request in requests for position in request] == list(range(count))
