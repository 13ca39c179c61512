import pytest

from coderag.config.sections import LLMSettings
from coderag.errors import ModelAuthenticationError, ModelError, ModelUnavailableError
from coderag.models.llms.model_listing import is_listed, list_models
from tests.loopback import Reply

LISTED = {
    "ollama": ["nomic-embed-text:latest", "qwen2.5-coder:latest"],
    "openai": ["text-embedding-3-small", "gpt-4o-mini"],
    "anthropic": ["claude-sonnet-5"],
    "gemini": ["gemini-3.7-flash"],
}


def listed(case, **options):
    return list_models(case.settings(**options), timeout_s=5)


def test_models_of_a_server_are_listed_without_one_being_set(case):
    assert listed(case, model="") == LISTED[case.provider]
    assert len(case.server.requests) == 1


def test_configured_model_is_listed(case):
    models = listed(case)
    assert is_listed(case.model_name, models)
    assert not is_listed("qwen2.5", models)


@pytest.mark.parametrize("provider", ["anthropic", "gemini"])
def test_list_in_pages_is_read_to_its_end(request, provider):
    case = request.getfixturevalue(provider)
    case.server.models = tuple(f"m{number}" for number in range(5))
    case.server.page = 2
    assert listed(case) == ["m0", "m1", "m2", "m3", "m4"]


def test_key_goes_with_the_request(case):
    case.server.key = "the-key"
    assert listed(case, api_key="the-key") == LISTED[case.provider]
    if case.provider != "ollama":  # which asks for none
        with pytest.raises(ModelAuthenticationError, match="refuses the key"):
            listed(case, api_key="another")


def test_callers_timeout_applies_without_retries(case):
    case.server.next(Reply(delay_s=30))
    with pytest.raises(ModelUnavailableError, match=r"within 0\.2 s"):
        list_models(case.settings(timeout_s=600), timeout_s=0.2)
    assert len(case.server.requests) == 1


@pytest.mark.parametrize("body", ["<html>", "[]", '{"models": 3, "data": 3}', '{"models": [{}], "data": [{}]}'])
def test_reply_that_is_not_a_list_is_an_error(case, body):
    case.server.next(Reply(body))
    with pytest.raises(ModelError, match="sent an invalid reply"):
        listed(case)


def test_without_a_provider_there_are_no_models():
    assert list_models(LLMSettings(), timeout_s=1) == []
